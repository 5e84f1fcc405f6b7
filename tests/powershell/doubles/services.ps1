# Services.

function Get-Service {
    [CmdletBinding()]
    param([string]$Name)
    $world = Read-World
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
    $world.services[$Name].StartType = $StartupType
    Save-World -World $world -Said "Set-Service $Name $StartupType"
}

function Start-Service {
    [CmdletBinding()]
    param([string]$Name)
    $world = Read-World
    Assert-Work -World $world -Command 'Start-Service'
    $world.services[$Name].Status = 'Running'
    Save-World -World $world -Said "Start-Service $Name"
}
