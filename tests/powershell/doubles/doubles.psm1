# Stand for commands of Windows that this PowerShell does not have, a file for each subject.
Set-StrictMode -Version Latest

foreach ($part in @(
    'world', 'boot', 'services', 'features', 'registry', 'network', 'firewall', 'power', 'time', 'users', 'files',
    'programs', 'kubernetes', 'tasks', 'system', 'handing_on', 'defender', 'hns'
)) {
    . (Join-Path -Path $PSScriptRoot -ChildPath ($part + '.ps1'))
}
if ((Test-Path -LiteralPath $worldPath) -and (Read-World)['machine'] -eq 'linux') {
    Enter-Machine
}

Export-ModuleMember -Function '*-*', '*.exe' -Alias '*'
