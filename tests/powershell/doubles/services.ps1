# Services. `services` has each with Name, Status, StartType and, where a script has made it, PathName, DisplayName,
# DependsOn, Failure. What a service was started with is in Runs: the text of its program, and its line. `Stops` is what
# one writes into its log that stops at once: path and text.

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

# The only place where a service begins or ends to run.
function Set-DoubledService {
    param($World, [string]$Name, [string]$Status)
    $service = $World.services[$Name]
    if ($Status -eq 'Running') {
        if ($Name -eq 'hns') {
            Start-Hns -World $World
        }
        if ($service.ContainsKey('PathName')) {
            $service.Runs = Get-RunningProgram -Line $service.PathName
        }
        if ($service.ContainsKey('Stops')) {
            $Status = 'Stopped'
            [System.IO.File]::AppendAllText((Resolve-RealPath -Path $service.Stops.log), $service.Stops.says)
        }
    }
    $service.Status = $Status
    if ($Name -eq 'kubelet' -and $Status -eq 'Running') {
        Start-DoubledKubelet -World $World
    }
    if ($Status -eq 'Stopped' -and $service.ContainsKey('Deleted')) {
        $World.services.Remove($Name)
    }
}

function Get-Depended {
    param($Service)
    if ($Service.ContainsKey('DependsOn')) {
        $Service.DependsOn
    }
}

# Those that need it.
function Get-Dependent {
    param($World, [string]$Name)
    $World.services.Values | Where-Object { @(Get-Depended -Service $_) -contains $Name }
}

function Find-DoubledService {
    param($World, [string]$Name, [string]$Command)
    Add-BuiltIn -World $World
    if (-not $World.services.ContainsKey($Name)) {
        throw "Cannot find any service with service name '$Name'."
    }
    if ($Command) {
        Assert-Work -World $World -Command $Command
        Assert-Work -World $World -Command "$Command $Name"
    }
    $World.services[$Name]
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
    $service = $world.services[$Name]
    $found = [pscustomobject]$service
    $depended = @(Get-Depended -Service $service | ForEach-Object { [pscustomobject]@{ Name = $_ } })
    $dependent = @(Get-Dependent -World $world -Name $Name | ForEach-Object { [pscustomobject]$_ })
    $found | Add-Member -MemberType NoteProperty -Name 'ServicesDependedOn' -Value $depended
    $found | Add-Member -MemberType NoteProperty -Name 'DependentServices' -Value $dependent
    $found
}

function New-Service {
    [CmdletBinding()]
    param([string]$Name, [string]$BinaryPathName, [string]$DisplayName, [string]$StartupType, [string[]]$DependsOn)
    $world = Read-World
    Assert-Work -World $world -Command 'New-Service'
    $said = "Service '$Name ($DisplayName)' cannot be created due to the following error: "
    if ($world.services.ContainsKey($Name)) {
        if ($world.services[$Name].ContainsKey('Deleted')) {
            throw ($said + 'The specified service has been marked for deletion.')
        }
        throw ($said + 'The specified service already exists.')
    }
    $world.services[$Name] = @{
        Name = $Name; DisplayName = $DisplayName; Status = 'Stopped'; StartType = $StartupType
        PathName = $BinaryPathName; DependsOn = @($DependsOn | Where-Object { $_ })
    }
    Save-World -World $world -Said "New-Service $Name"
}

function Set-Service {
    [CmdletBinding()]
    param([string]$Name, [string]$StartupType)
    $world = Read-World
    (Find-DoubledService -World $world -Name $Name).StartType = $StartupType
    Save-World -World $world -Said "Set-Service $Name $StartupType"
}

function Start-Service {
    [CmdletBinding()]
    param([string]$Name)
    $world = Read-World
    $service = Find-DoubledService -World $world -Name $Name -Command 'Start-Service'
    if ($service.Status -eq 'Running') {
        return
    }
    $refused = "Service '$Name' cannot be started due to the following error: Cannot start service '$Name' on computer '.'."
    $missing = @(Get-Depended -Service $service | Where-Object { -not $world.services.ContainsKey($_) })
    if ($service.StartType -eq 'Disabled' -or $service.ContainsKey('Deleted') -or $missing.Count -gt 0) {
        throw $refused
    }
    # What it needs is started with it.
    foreach ($needed in Get-Depended -Service $service) {
        if ($world.services[$needed].Status -ne 'Running') {
            Set-DoubledService -World $world -Name $needed -Status 'Running'
        }
    }
    Set-DoubledService -World $world -Name $Name -Status 'Running'
    Save-World -World $world -Said "Start-Service $Name"
}

function Stop-Service {
    [CmdletBinding()]
    param([string]$Name, [switch]$Force)
    $world = Read-World
    $service = Find-DoubledService -World $world -Name $Name -Command 'Stop-Service'
    $running = @(Get-Dependent -World $world -Name $Name | Where-Object { $_.Status -eq 'Running' })
    if ($running.Count -gt 0 -and -not $Force) {
        throw ("Cannot stop service '$Name' because it has dependent services. " +
            'It can only be stopped if the Force flag is set.')
    }
    if ($service.Status -eq 'Stopped') {
        return
    }
    foreach ($one in $running) {
        Set-DoubledService -World $world -Name $one.Name -Status 'Stopped'
    }
    Set-DoubledService -World $world -Name $Name -Status 'Stopped'
    Save-World -World $world -Said "Stop-Service $Name"
}

function Restart-Service {
    [CmdletBinding()]
    param([string]$Name, [switch]$Force)
    $world = Read-World
    [void](Find-DoubledService -World $world -Name $Name -Command 'Restart-Service')
    Set-DoubledService -World $world -Name $Name -Status 'Stopped'
    Set-DoubledService -World $world -Name $Name -Status 'Running'
    Save-World -World $world -Said "Restart-Service $Name"
}

# The service as `Get-CimInstance` gives it.
function Get-CimService {
    param($World, [string]$Name)
    if (-not $World.services.ContainsKey($Name)) {
        return
    }
    $service = $World.services[$Name]
    $modes = @{ Automatic = 'Auto'; Manual = 'Manual'; Disabled = 'Disabled' }
    [pscustomobject]@{
        Name = $Name
        State = [string]$service.Status
        StartMode = $modes[[string]$service.StartType]
        PathName = [string]$service['PathName']
        ProcessId = [int]$service['ProcessId']
        ExitCode = [int]$service['ExitCode']
        ServiceSpecificExitCode = [int]$service['SpecificExitCode']
    }
}

function Invoke-CimMethod {
    [CmdletBinding()]
    param($InputObject, [string]$MethodName, [System.Collections.IDictionary]$Arguments)
    $world = Read-World
    $name = $InputObject.Name
    $service = Find-DoubledService -World $world -Name $name
    if ($service.ContainsKey('Deleted')) {
        return [pscustomobject]@{ ReturnValue = 16 }
    }
    if ($MethodName -eq 'Delete') {
        $service.Deleted = $true
        if ($service.Status -eq 'Stopped') {
            $world.services.Remove($name)
        }
    } elseif ($MethodName -eq 'Change') {
        foreach ($key in $Arguments.Keys) {
            if ($key -eq 'PathName') {
                $service.PathName = [string]$Arguments[$key]
            } elseif ($key -eq 'ServiceDependencies') {
                $service.DependsOn = @($Arguments[$key])
            } else {
                throw "no double for $key"
            }
        }
    } else {
        throw "no double for $MethodName"
    }
    Save-World -World $world -Said "$MethodName $name"
    [pscustomobject]@{ ReturnValue = 0 }
}

# Its words are German ones, because scripts must not depend on the system's language.
function sc.exe {
    $world = Read-World
    Add-BuiltIn -World $world
    $words = @($args | ForEach-Object { [string]$_ })
    $service = $world.services[$words[1]]
    $global:LASTEXITCODE = 0
    if ($null -eq $service) {
        '[SC] OpenService FEHLER 1060:'
        'Der angegebene Dienst ist kein installierter Dienst.'
        $global:LASTEXITCODE = 1060
        return
    }
    if (($words -join ' ') -match '^triggerinfo \S+ delete$') {
        $registry = Get-Registry -World $world
        $below = 'HKLM:\SYSTEM\CurrentControlSet\Services\' + $words[1] + '\TriggerInfo\'
        foreach ($key in @($registry.Keys | Where-Object { $_ -like ($below + '*') })) {
            $registry.Remove($key)
        }
        Save-World -World $world -Said ('sc.exe ' + ($words -join ' '))
        '[SC] ChangeServiceConfig2 ERFOLG'
        return
    }
    # Between the equals sign and the value stands a space.
    $set = switch -Regex ($words -join ' ') {
        '^failure \S+ reset= (\d+) actions= (\S+)$' { @{ reset = [int]$Matches[1]; actions = $Matches[2] } }
        '^failureflag \S+ (1|0)$' { @{ flag = [int]$Matches[1] } }
    }
    if ($null -eq $set) {
        'FEHLER:  Unbekannter Befehl oder falsche Option.'
        $global:LASTEXITCODE = 1639
        return
    }
    if (-not $service.ContainsKey('Failure')) {
        $service.Failure = @{}
    }
    $new = @($set.Keys | Where-Object { $service.Failure[$_] -ne $set[$_] })
    if ($new.Count -gt 0) {
        foreach ($key in $new) {
            $service.Failure[$key] = $set[$key]
        }
        Save-World -World $world -Said ('sc.exe ' + $words[0] + ' ' + $words[1])
    }
    '[SC] ChangeServiceConfig2 ERFOLG'
}
