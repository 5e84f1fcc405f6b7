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
        if (-not (Test-Path -LiteralPath $one -PathType 'Container')) {
            [void](New-Item -ItemType 'Directory' -Path $one -Force)
        }
    }
}

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
