<#
.SYNOPSIS
What a node does for wdev by a script where there is no SSH.

.DESCRIPTION
The host picks one of the functions, with the data that it names; nobody runs this by hand.
#>


# Data: words.
function Invoke-WdevExec {
    Add-WdevFact -Key 'code' -Value (Invoke-WdevProgram -Words $WdevData.words)
}

# Puts an uploaded file into its place. Data: landed, to, hash.
function Invoke-WdevPlace {
    $part = $WdevData.to + '.wdev-' + $WdevNonce
    try {
        $folder = [System.IO.Path]::GetDirectoryName((Resolve-WdevPath -Path $WdevData.to))
        [void][System.IO.Directory]::CreateDirectory($folder)
        Copy-Item -LiteralPath $WdevData.landed -Destination $part
        $hash = Get-FileHash -LiteralPath $part -Algorithm 'SHA256'
        if ($hash.Hash -ne $WdevData.hash) {
            throw ('what arrived has another hash: ' + $hash.Hash)
        }
        Move-WdevFile -From $part -To $WdevData.to
    } finally {
        foreach ($left in $part, $WdevData.landed) {
            [System.IO.File]::Delete((Resolve-WdevPath -Path $left))
        }
    }
}

# Reports one piece of a file, unless it is too large. Data: from, at, piece, largest.
function Invoke-WdevFetch {
    $path = Resolve-WdevPath -Path $WdevData.from
    $share = [System.IO.FileShare]::ReadWrite -bor [System.IO.FileShare]::Delete
    $file = New-Object -TypeName 'System.IO.FileStream' -ArgumentList @(
        $path, [System.IO.FileMode]::Open, [System.IO.FileAccess]::Read, $share
    )
    try {
        $size = $file.Length
        Add-WdevFact -Key 'size' -Value ([string]$size)
        if ($size -gt $WdevData.largest) {
            return
        }
        $sha256 = [System.Security.Cryptography.SHA256]::Create()
        try {
            $hash = [BitConverter]::ToString($sha256.ComputeHash($file))
        } finally {
            $sha256.Dispose()
        }
        Add-WdevFact -Key 'hash' -Value $hash.Replace('-', '').ToLowerInvariant()
        [void]$file.Seek($WdevData.at, [System.IO.SeekOrigin]::Begin)
        $bytes = New-Object -TypeName 'byte[]' -ArgumentList $WdevData.piece
        $length = 0
        do {
            $read = $file.Read($bytes, $length, $bytes.Length - $length)
            $length += $read
        } while ($read -gt 0)
        Add-WdevFact -Key 'content' -Value ([Convert]::ToBase64String($bytes, 0, $length))
    } finally {
        $file.Dispose()
    }
}

# Data: none.
function Invoke-WdevBootIdentity {
    Add-WdevFact -Key 'identity' -Value (Get-WdevBootIdentity)
}

function Invoke-WdevRun {
    throw 'an errand is done by the probe'
}

function Invoke-WdevProbe {
    & $WdevErrand
}
