# Stand for commands of Windows that this PowerShell does not have, a file for each subject.
Set-StrictMode -Version Latest

foreach ($part in 'world', 'boot', 'services', 'features', 'registry', 'network', 'firewall', 'hns', 'power', 'time', 'users', 'files', 'system') {
    . (Join-Path -Path $PSScriptRoot -ChildPath ($part + '.ps1'))
}

Export-ModuleMember -Function '*-*', '*.exe' -Alias '*'
