# The registry.

# A value of a key; nothing when there is no such value or no such key.
function Get-WdevRegistryValue {
    param([string]$Path, [string]$Name)
    $found = Get-ItemProperty -LiteralPath $Path -Name $Name -ErrorAction SilentlyContinue
    if ($null -ne $found) {
        $found.$Name
    }
}

# Sets a number, and makes its key where it is missing. A key that is there is never made: `New-Item -Force`
# would empty it.
function Set-WdevRegistryValue {
    param([string]$Path, [string]$Name, [int]$Value)
    if (-not (Test-Path -LiteralPath $Path)) {
        [void](New-Item -Path $Path -Force)
    }
    [void](New-ItemProperty -LiteralPath $Path -Name $Name -PropertyType 'DWord' -Value $Value -Force)
}
