# Files and archives. Changes in the folders of a node's software count as changes of the node.

$countedFolders = @(
    'C:\k', 'C:\Program Files\containerd', 'C:\var', 'C:\etc', 'C:\opt', 'C:\ProgramData\containerd',
    'C:\ProgramData\wdev\cache'
)

function Resolve-RealPath {
    param([string]$Path)
    $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Path)
}

function Enter-FileChange {
    param([string]$Path)
    $counted = @($countedFolders | Where-Object { $Path -eq $_ -or $Path -like ($_ + '\*') }).Count -gt 0
    if ($counted) {
        Start-Change
    }
    $counted
}

function Exit-FileChange {
    param([bool]$Counted, [string]$Said)
    if ($Counted) {
        Save-World -World (Read-World) -Said $Said -Begun
    }
}

# Programs that run: those of services, and those in `held`, which something else runs.
function Get-HeldFile {
    param($World)
    if ($World.ContainsKey('held')) {
        $World.held
    }
    $World.services.Values | Where-Object { $_.Status -eq 'Running' -and $_.ContainsKey('PathName') } |
        ForEach-Object { Get-LineProgram -Line $_.PathName }
}

function Assert-NotHeld {
    param([string]$Path, [string]$Said)
    if (@(Get-HeldFile -World (Read-World)) -contains $Path) {
        throw $Said
    }
}

function Remove-Item {
    [CmdletBinding()]
    param([string]$LiteralPath, [switch]$Recurse, [switch]$Force)
    Assert-NotHeld -Path $LiteralPath -Said "Cannot remove item ${LiteralPath}: Access to the path '$LiteralPath' is denied."
    $counted = Enter-FileChange -Path $LiteralPath
    Microsoft.PowerShell.Management\Remove-Item @PSBoundParameters
    Exit-FileChange -Counted $counted -Said "Remove-Item $LiteralPath"
}

function Copy-Item {
    [CmdletBinding()]
    param(
        [Parameter(ValueFromPipelineByPropertyName)][Alias('PSPath')][string]$LiteralPath, [string]$Destination,
        [switch]$Recurse, [switch]$Force
    )
    process {
        $held = 'The process cannot access the file ' + $Destination + ' because it is being used by another process.'
        Assert-NotHeld -Path $Destination -Said $held
        $counted = Enter-FileChange -Path $Destination
        Microsoft.PowerShell.Management\Copy-Item @PSBoundParameters
        Exit-FileChange -Counted $counted -Said "Copy-Item $Destination"
    }
}

# A program that runs may be called something else, and is held under that name then.
function Move-Item {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$Destination, [switch]$Force)
    if ((Microsoft.PowerShell.Management\Test-Path -LiteralPath $Destination) -and -not $Force) {
        throw 'Cannot create a file when that file already exists.'
    }
    $counted = Enter-FileChange -Path $Destination
    Microsoft.PowerShell.Management\Move-Item @PSBoundParameters
    $world = Read-World
    if ($world.ContainsKey('held')) {
        $world.held = @($world.held | ForEach-Object { if ($_ -eq $LiteralPath) { $Destination } else { $_ } })
        Write-World -World $world
    }
    Exit-FileChange -Counted $counted -Said "Move-Item $Destination"
}

# This PowerShell comes without the module for archives.
function Expand-Archive {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$DestinationPath)
    $paths = $LiteralPath, $DestinationPath | ForEach-Object { Resolve-RealPath -Path $_ }
    [System.IO.Compression.ZipFile]::ExtractToDirectory($paths[0], $paths[1])
}

# The system's own.
function tar.exe {
    Start-Change
    & (Get-Command -Name 'tar' -CommandType Application)[0].Path @args 2>&1
    $code = $LASTEXITCODE
    Save-World -World (Read-World) -Said 'tar.exe' -Begun
    $global:LASTEXITCODE = $code
}

# `urls` has the file for each address. The kubelet says by itself that it is well.
function curl.exe {
    $words = @($args | ForEach-Object { [string]$_ })
    $world = Read-World
    $global:LASTEXITCODE = 0
    if ($words -contains 'http://127.0.0.1:10248/healthz') {
        if ($world.services['kubelet'].Status -eq 'Running') {
            return 'ok'
        }
        'curl: (7) Failed to connect to 127.0.0.1 port 10248'
        $global:LASTEXITCODE = 7
        return
    }
    $settings = [System.IO.File]::ReadAllText($words[[array]::IndexOf($words, '--config') + 1])
    $url = [regex]::Unescape([regex]::Match($settings, '(?m)^url = "(.*)"$').Groups[1].Value)
    $urls = Get-Part -World $world -Name 'urls' -Default @{}
    if (-not $urls.ContainsKey($url)) {
        'curl: (22) The requested URL returned error: 404'
        $global:LASTEXITCODE = 22
        return
    }
    [System.IO.File]::Copy($urls[$url], $words[[array]::IndexOf($words, '--output') + 1], $true)
    Save-World -World $world -Said 'curl.exe'
}
