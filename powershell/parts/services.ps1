# Services of Windows. Needs nothing else.

# A service; nothing where there is none. Its `PathName` is the line that it is started by.
function Get-WdevService {
    param([string]$Name)
    Get-CimInstance -ClassName 'Win32_Service' -Filter ("Name = '" + $Name + "'")
}

# Changes a service. The numbers mean:
# https://learn.microsoft.com/windows/win32/cimwin32prov/change-method-in-class-win32-service
function Set-WdevServiceProperty {
    param([object]$Service, [hashtable]$Properties)
    $answer = Invoke-CimMethod -InputObject $Service -MethodName 'Change' -Arguments $Properties
    if ($answer.ReturnValue -ne 0) {
        throw ('Windows does not change the service ' + $Service.Name + ': error ' + $answer.ReturnValue)
    }
}

# Makes the service, or changes it, so that it is started by this line, at every boot. Returns whether its line has
# changed: then it must be started anew. No shell and no program stands in between, so the line comes as it is.
function Set-WdevService {
    param([string]$Name, [string]$DisplayName, [string]$Line, [string[]]$DependsOn = @())
    $service = Get-WdevService -Name $Name
    if ($null -eq $service) {
        $new = @{
            Name = $Name
            DisplayName = $DisplayName
            BinaryPathName = $Line
            StartupType = 'Automatic'
        }
        if ($DependsOn.Count -gt 0) {
            $new['DependsOn'] = $DependsOn
        }
        [void](New-Service @new)
        return $true
    }
    $change = @{}
    if ($service.PathName -cne $Line) {
        $change['PathName'] = $Line
    }
    $there = @((Get-Service -Name $Name).ServicesDependedOn | ForEach-Object -Process { $_.Name } | Sort-Object)
    if (($there -join ' ') -ne (@($DependsOn | Sort-Object) -join ' ')) {
        $change['ServiceDependencies'] = [string[]]$DependsOn
    }
    if ($change.Count -gt 0) {
        Set-WdevServiceProperty -Service $service -Properties $change
    }
    if ($service.StartMode -ne 'Auto') {
        Set-Service -Name $Name -StartupType 'Automatic'
    }
    $change.ContainsKey('PathName')
}

# Has Windows start the service again when it ends by itself: after 5 and 15 seconds, then every minute; and also
# when it ends with an error without a crash.
function Set-WdevServiceRestart {
    param([string]$Name)
    $actions = 'restart/5000/restart/15000/restart/60000'
    $arguments = 'failure', $Name, 'reset=', '86400', 'actions=', $actions
    Invoke-WdevNative -FilePath 'sc.exe' -ArgumentList $arguments | Out-Null
    Invoke-WdevNative -FilePath 'sc.exe' -ArgumentList 'failureflag', $Name, '1' | Out-Null
}

# The last lines of a log; a word where there is none.
function Get-WdevLogTail {
    param([string]$Path, [int]$Lines = 15)
    if (-not (Test-Path -LiteralPath $Path)) {
        return ('there is no ' + $Path)
    }
    $text = @(Get-Content -LiteralPath $Path -Tail $Lines) -join "`n"
    if ($text.Trim() -eq '') {
        return ($Path + ' is empty')
    }
    'the end of ' + $Path + ":`n" + $text
}

# Ends a service and those that need it; says nothing of one that does not run, or that there is not. Returns the
# names of those that it has ended beside it, to be started again.
function Stop-WdevService {
    param([string]$Name)
    $service = Get-Service -Name $Name -ErrorAction SilentlyContinue
    if ($null -eq $service -or $service.Status -eq 'Stopped') {
        return
    }
    $service.DependentServices | Where-Object -FilterScript { $_.Status -ne 'Stopped' } | ForEach-Object -Process { $_.Name }
    $process = (Get-WdevService -Name $Name).ProcessId
    Stop-Service -Name $Name -Force
    # A program may say that it has stopped before it ends, and hold its ports and files until then.
    if ($process) {
        $clock = [System.Diagnostics.Stopwatch]::StartNew()
        while ($null -ne (Get-Process -Id $process -ErrorAction SilentlyContinue) -and $clock.Elapsed.TotalSeconds -lt 15) {
            Start-Sleep -Milliseconds 200
        }
    }
}

# Starts a service, and holds that it runs: right away, and each time that `Ready` is asked until it says yes. What
# it has written into its log tells why it does not.
function Start-WdevService {
    param([string]$Name, [string]$Log, [scriptblock]$Ready = { $true }, [int]$Seconds = 60)
    try {
        Start-Service -Name $Name
    } catch {
        throw ('the service ' + $Name + ' does not start: ' + $_.Exception.Message + '; ' + (Get-WdevLogTail -Path $Log))
    }
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $state = (Get-WdevService -Name $Name).State
        if ($state -eq 'Running' -and (& $Ready)) {
            return
        }
        if ($state -eq 'Stopped' -or $state -eq 'Paused') {
            throw ('the service ' + $Name + ' was started and is ' + $state.ToLowerInvariant() + ' again; ' + (Get-WdevLogTail -Path $Log))
        }
        if ($clock.Elapsed.TotalSeconds -ge $Seconds) {
            throw ('the service ' + $Name + ' does not answer after ' + $Seconds + ' seconds; ' + (Get-WdevLogTail -Path $Log))
        }
        Start-Sleep -Milliseconds 500
    }
}
