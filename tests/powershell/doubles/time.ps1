# The clock, which is `clock_off` milliseconds ahead of the real one, and the time zone.

function Get-Date {
    [CmdletBinding()]
    param()
    $world = Read-World
    [datetime]::Now.AddMilliseconds((Get-Part -World $world -Name 'clock_off' -Default 0))
}

function Set-Date {
    [CmdletBinding()]
    param([timespan]$Adjust)
    $world = Read-World
    Assert-Work -World $world -Command 'Set-Date'
    $world.clock_off = [long]((Get-Part -World $world -Name 'clock_off' -Default 0) + $Adjust.TotalMilliseconds)
    Save-World -World $world -Said 'Set-Date'
}

function Get-TimeZone {
    [CmdletBinding()]
    param()
    [pscustomobject]@{ Id = Get-Part -World (Read-World) -Name 'time_zone' -Default 'Pacific Standard Time' }
}

function Set-TimeZone {
    [CmdletBinding()]
    param([string]$Id)
    $world = Read-World
    $world.time_zone = $Id
    Save-World -World $world -Said "Set-TimeZone $Id"
}
