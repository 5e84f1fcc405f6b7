# Runs the script $args[0], a path of Windows, with the other arguments.
[void](New-PSDrive -Name C -PSProvider FileSystem -Root /c -Scope Global)
# Of those whose namesake PowerShell has, it would take its own.
Import-Module -Name 'doubles' -Global -DisableNameChecking
$rest = @($args | Select-Object -Skip 1)
& $args[0] @rest
exit $LASTEXITCODE
