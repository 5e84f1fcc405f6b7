# Scheduled tasks: `tasks` has the line and the user of each.

function New-ScheduledTaskAction {
    [CmdletBinding()]
    param([string]$Execute, [string]$Argument)
    "$Execute $Argument"
}

function New-ScheduledTaskTrigger {
    [CmdletBinding()]
    param([switch]$Once, [datetime]$At, [timespan]$RepetitionInterval)
    "$RepetitionInterval"
}

function New-ScheduledTaskPrincipal {
    [CmdletBinding()]
    param([string]$UserId, [ValidateSet('ServiceAccount')][string]$LogonType)
    $UserId
}

function New-ScheduledTaskSettingsSet {
    [CmdletBinding()]
    param([switch]$AllowStartIfOnBatteries, [switch]$DontStopIfGoingOnBatteries)
    "$AllowStartIfOnBatteries $DontStopIfGoingOnBatteries"
}

function Get-ScheduledTask {
    [CmdletBinding()]
    param([string]$TaskName)
    $tasks = Get-Part -World (Read-World) -Name 'tasks' -Default @{}
    if (-not $tasks.ContainsKey($TaskName)) {
        Write-Error -Message "No MSFT_ScheduledTask objects found with property 'TaskName' equal to '$TaskName'."
        return
    }
    [pscustomobject]$tasks[$TaskName]
}

function Register-ScheduledTask {
    [CmdletBinding()]
    param([string]$TaskName, $Action, $Trigger, $Settings, $Principal)
    $world = Read-World
    $tasks = Get-Part -World $world -Name 'tasks' -Default @{}
    if ($tasks.ContainsKey($TaskName)) {
        throw 'Cannot create a file when that file already exists.'
    }
    $tasks[$TaskName] = @{ TaskName = $TaskName; action = $Action; every = $Trigger; user = $Principal }
    Save-World -World $world -Said "Register-ScheduledTask $TaskName"
}
