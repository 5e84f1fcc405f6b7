# What a node does for wdev by a script where there is no SSH. Data: depends on the errand.

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

# Data: from.
function Invoke-WdevFetch {
    $bytes = [System.IO.File]::ReadAllBytes((Resolve-WdevPath -Path $WdevData.from))
    Add-WdevFact -Key 'content' -Value ([Convert]::ToBase64String($bytes))
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
