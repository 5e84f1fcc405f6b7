# Prints what changes with every boot and with nothing else: when the first process of the session
# manager's began. Unlike `LastBootUpTime`, that does not move when the clock is set.
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'
try {
    $first = @(Get-CimInstance -ClassName Win32_Process -Filter "Name = 'wininit.exe'")[0]
    $began = $first.CreationDate.ToUniversalTime().ToString('yyyyMMddHHmmss.ffffff')
    [Console]::Out.WriteLine($began + '-' + $first.ProcessId)
} catch {
    [Console]::Error.WriteLine($_.Exception.GetBaseException().Message)
    exit 1
}
exit 0
