# What changes with every boot and with nothing else: when the first process of the system's own session
# began. Unlike `LastBootUpTime`, that does not move when the clock is set.
function Get-WdevBootIdentity {
    $first = @(Get-CimInstance -ClassName Win32_Process -Filter "Name = 'wininit.exe'")[0]
    $first.CreationDate.ToUniversalTime().ToString('yyyyMMddHHmmss.ffffff') + '-' + $first.ProcessId
}
