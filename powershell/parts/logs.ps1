# Logs that do not grow for ever. Needs parts/programs.ps1; `trimLogs` in the data is the text of trim-logs.ps1.

$WdevTrimLogs = 'C:\ProgramData\wdev\trim-logs.ps1'
$WdevTrimTask = 'wdev-trim-logs'

function Get-WdevTrimTask {
    Get-ScheduledTask -TaskName $WdevTrimTask -ErrorAction SilentlyContinue
}

# Has Windows look after the logs of the services every hour.
function Register-WdevTrimLogs {
    [void](Set-WdevText -Path $WdevTrimLogs -Text $WdevData.trimLogs)
    if ($null -ne (Get-WdevTrimTask)) {
        return
    }
    $line = '-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "' + $WdevTrimLogs + '"'
    $task = @{
        TaskName = $WdevTrimTask
        Action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument $line
        # Once, and again each hour: there is no other way to say it.
        Trigger = New-ScheduledTaskTrigger -Once -At ([datetime]::Today) -RepetitionInterval ([timespan]::FromHours(1))
        # Where the host tells its guest of a battery, too.
        Settings = New-ScheduledTaskSettingsSet -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries
        Principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType 'ServiceAccount'
    }
    [void](Register-ScheduledTask @task)
}

function Test-WdevTrimLogs {
    $null -ne (Get-WdevTrimTask) -and (Test-WdevText -Path $WdevTrimLogs -Text $WdevData.trimLogs)
}
