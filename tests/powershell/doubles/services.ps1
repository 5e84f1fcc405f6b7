# Services.

# Services that every Windows has.
$builtIn = @{ W32Time = 'Manual' }

function Add-BuiltIn {
    param($World)
    foreach ($name in $builtIn.Keys) {
        if (-not $World.services.ContainsKey($name)) {
            $World.services[$name] = @{ Name = $name; Status = 'Stopped'; StartType = $builtIn[$name] }
        }
    }
}

function Get-Service {
    [CmdletBinding()]
    param([string]$Name)
    $world = Read-World
    Add-BuiltIn -World $world
    if (-not $world.services.ContainsKey($Name)) {
        Write-Error -Message "Cannot find any service with service name '$Name'."
        return
    }
    [pscustomobject]$world.services[$Name]
}

function Set-Service {
    [CmdletBinding()]
    param([string]$Name, [string]$StartupType)
    $world = Read-World
    Add-BuiltIn -World $world
    $world.services[$Name].StartType = $StartupType
    Save-World -World $world -Said "Set-Service $Name $StartupType"
}

function Start-Service {
    [CmdletBinding()]
    param([string]$Name)
    $world = Read-World
    Assert-Work -World $world -Command 'Start-Service'
    Add-BuiltIn -World $world
    if ($world.services[$Name].StartType -eq 'Disabled') {
        throw "Service '$Name' cannot be started due to the following error: Cannot start service '$Name' on computer '.'."
    }
    if ($Name -eq 'hns') {
        Start-Hns -World $world
    }
    $world.services[$Name].Status = 'Running'
    Save-World -World $world -Said "Start-Service $Name"
}

function Stop-Service {
    [CmdletBinding()]
    param([string]$Name, [switch]$Force)
    $world = Read-World
    $world.services[$Name].Status = 'Stopped'
    Save-World -World $world -Said "Stop-Service $Name"
}

function Restart-Service {
    [CmdletBinding()]
    param([string]$Name, [switch]$Force)
    $world = Read-World
    $world.services[$Name].Status = 'Running'
    if ($Name -eq 'hns') {
        Start-Hns -World $world
    }
    Save-World -World $world -Said "Restart-Service $Name"
}
