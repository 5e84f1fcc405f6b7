# Files of artifacts and the programs that are made of them.

# The SHA-256 of a file in lower-case hexadecimal digits; empty where there is no such file.
function Get-WdevHash {
    param([string]$Path)
    if (-not (Test-Path -LiteralPath $Path -PathType 'Leaf')) {
        return ''
    }
    (Get-FileHash -LiteralPath $Path -Algorithm 'SHA256').Hash.ToLowerInvariant()
}

# The SHA-256 that an artifact must have, as wdev gives it.
function Get-WdevWantedHash {
    param([string]$Name)
    (Get-WdevSecret -Name ('sha256_' + $Name.Replace('-', '_'))).ToLowerInvariant()
}

# The file of an artifact, which must be the one that is wanted.
function Get-WdevArtifact {
    param([string]$Name)
    $path = $WdevData.cache + '\' + $Name
    $is = Get-WdevHash -Path $path
    if ($is -eq '') {
        throw ('there is no ' + $path + ', from which ' + $Name + ' is installed')
    }
    $wanted = Get-WdevWantedHash -Name $Name
    if ($is -ne $wanted) {
        throw ($path + ' is not the ' + $Name + ' that is wanted: its SHA-256 is ' + $is + ', not ' + $wanted)
    }
    $path
}

# Makes folders, and those above them; says nothing of those that are there.
function Add-WdevFolder {
    param([string[]]$Path)
    foreach ($one in $Path) {
        [void][System.IO.Directory]::CreateDirectory((Resolve-WdevPath -Path $one))
    }
}

# Removes a file or a folder with what is in it; says nothing of one that is not there.
function Remove-WdevFile {
    param([string]$Path)
    if (Test-Path -LiteralPath $Path) {
        Remove-Item -LiteralPath $Path -Recurse -Force
    }
}

# Puts a copy of the program `From` in the place of `To`. A program that runs cannot be written to or removed,
# but it can be called something else: https://learn.microsoft.com/windows/win32/fileio/moving-and-replacing-files
# What is left of it goes once nothing runs it any more.
function Install-WdevProgram {
    param([string]$From, [string]$To)
    $old = $To + '.old'
    $new = $To + '.new'
    if ((Get-WdevHash -Path $To) -ne (Get-WdevHash -Path $From)) {
        Copy-Item -LiteralPath $From -Destination $new -Force
        if (Test-Path -LiteralPath $To) {
            if (Test-Path -LiteralPath $old) {
                # Still in use, it makes place under a name of its own.
                Move-Item -LiteralPath $old -Destination ($old + '-' + [guid]::NewGuid().ToString('N'))
            }
            Move-Item -LiteralPath $To -Destination $old
        }
        Move-Item -LiteralPath $new -Destination $To
    }
    Remove-WdevOldProgram -To $To
}

# Removes what is left of programs that were once in the place of `To`, also by a run that was ended.
function Remove-WdevOldProgram {
    param([string]$To)
    $folder = Split-Path -Path $To -Parent
    foreach ($left in @(Get-ChildItem -LiteralPath $folder -Filter ((Split-Path -Path $To -Leaf) + '.old*'))) {
        try {
            Remove-Item -LiteralPath ($folder + '\' + $left.Name) -Force
        } catch {
            Write-WdevLog -Text ($left.Name + ' is still in use, and stays until the next time')
        }
    }
}

# Fails where Windows is not on C:. The network plugins and kubeadm know no other drive.
function Assert-WdevDrive {
    if ($env:SystemDrive -and $env:SystemDrive -ne 'C:') {
        throw ('Windows is on drive ' + $env:SystemDrive + ', and what Kubernetes needs on a node goes to C: alone')
    }
}

# Writes a text where it is not there yet. Returns whether it has.
function Set-WdevText {
    param([string]$Path, [string]$Text)
    if (Test-WdevText -Path $Path -Text $Text) {
        return $false
    }
    Add-WdevFolder -Path (Split-Path -Path $Path -Parent)
    Write-WdevFile -Path $Path -Text $Text
    $true
}

function Test-WdevText {
    param([string]$Path, [string]$Text)
    (Test-Path -LiteralPath $Path -PathType 'Leaf') -and
        [System.IO.File]::ReadAllText((Resolve-WdevPath -Path $Path)) -ceq $Text
}

# What was installed of an archive: its hash, then the hash and the path of each file.
function Get-WdevReceipt {
    param([string]$Name)
    $path = $WdevData.cache + '\' + $Name + '.installed'
    if (Test-Path -LiteralPath $path) {
        Get-Content -LiteralPath $path
    }
}

# Whether all of the archive that is wanted is installed, and nobody has changed it.
function Test-WdevInstalled {
    param([string]$Name)
    $receipt = @(Get-WdevReceipt -Name $Name)
    if ($receipt.Count -lt 2 -or $receipt[0] -cne (Get-WdevWantedHash -Name $Name)) {
        return $false
    }
    $wrong = @($receipt | Select-Object -Skip 1 | Where-Object -FilterScript {
        $hash, $path = $_.Split(' ', 2)
        (Get-WdevHash -Path $path) -cne $hash
    })
    $wrong.Count -eq 0
}

# Unpacks the archive of an artifact and puts the files of its folder `Folder` into `To`. `Program` must be one. What it
# has unpacked is left for Remove-WdevUnpacked.
function Install-WdevArchive {
    param([string]$Name, [string]$Folder, [string]$Program, [string]$To)
    $archive = Get-WdevArtifact -Name $Name
    $unpacked = $archive + '.unpacked'
    Remove-WdevFile -Path $unpacked
    Add-WdevFolder -Path $unpacked, $To
    $arguments = '-xf', (Resolve-WdevPath -Path $archive), '-C', (Resolve-WdevPath -Path $unpacked)
    try {
        Invoke-WdevNative -FilePath 'tar.exe' -ArgumentList $arguments
    } catch {
        throw ('the archive of ' + $Name + ' cannot be unpacked: ' + $_.Exception.Message)
    }
    $from = ($unpacked + '\' + $Folder).TrimEnd('\')
    if (-not (Test-Path -LiteralPath ($from + '\' + $Program) -PathType 'Leaf')) {
        $what = ($Folder + '\' + $Program).TrimStart('\')
        throw ('the archive of ' + $Name + ' is not like that of its project: it holds no ' + $what)
    }
    $receipt = @(Get-WdevWantedHash -Name $Name)
    foreach ($file in @(Get-ChildItem -LiteralPath $from -File)) {
        $target = $To + '\' + $file.Name
        Install-WdevProgram -From ($from + '\' + $file.Name) -To $target
        $receipt += (Get-WdevHash -Path $target) + ' ' + $target
    }
    Write-WdevFile -Path ($archive + '.installed') -Text (($receipt + '') -join "`n")
}

function Remove-WdevUnpacked {
    param([string[]]$Name)
    foreach ($one in $Name) {
        Remove-WdevFile -Path ($WdevData.cache + '\' + $one + '.unpacked')
    }
}
