# The registry: `registry` has keys with their values. This PowerShell has no drive HKLM.

$rebootKeys = @(
    'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending'
    'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired'
)

function Get-Registry {
    param($World)
    Get-Part -World $World -Name 'registry' -Default @{}
}

function Test-RegistryKey {
    param($World, [string]$Path)
    $registry = Get-Registry -World $World
    # A key is there as soon as one below it is.
    @($registry.Keys | Where-Object { $_ -eq $Path -or $_ -like ($Path + '\*') }).Count -gt 0
}

# The values of a key; names of keys have no case.
function Get-RegistryKey {
    param($World, [string]$Path)
    $names = 'HKLM:\SYSTEM\CurrentControlSet\Control\ComputerName\'
    if ($Path -like ($names + '*')) {
        return @{ ComputerName = (Get-ComputerNames -World $World)[$Path.Substring($names.Length)] }
    }
    $registry = Get-Registry -World $World
    $key = @($registry.Keys | Where-Object { $_ -eq $Path })
    if ($key.Count -gt 0) {
        $registry[$key[0]]
    }
}

function Test-Path {
    [CmdletBinding()]
    param([Parameter(ValueFromPipeline)][string]$LiteralPath, [Parameter(Position = 0)][string]$Path, [string]$PathType)
    if ($LiteralPath -like 'HKLM:\*') {
        return Test-RegistryKey -World (Read-World) -Path $LiteralPath
    }
    Microsoft.PowerShell.Management\Test-Path @PSBoundParameters
}

function New-Item {
    [CmdletBinding()]
    param([Parameter(Position = 0)][string]$Path, [string]$ItemType, $Value, [switch]$Force)
    if ($Path -notlike 'HKLM:\*') {
        $counted = Enter-FileChange -Path $Path
        Microsoft.PowerShell.Management\New-Item @PSBoundParameters
        Exit-FileChange -Counted $counted -Said "New-Item $Path"
        return
    }
    $world = Read-World
    if ((Test-RegistryKey -World $world -Path $Path) -and -not $Force) {
        throw 'A key in this path already exists.'
    }
    if (-not $Force -and -not (Test-RegistryKey -World $world -Path (Split-Path -Path $Path -Parent))) {
        throw 'The registry key at the specified path does not exist.'
    }
    # With -Force a key that is there is made anew, without its values.
    (Get-Registry -World $world)[$Path] = @{}
    Save-World -World $world -Said "New-Item $Path"
}

function Get-ItemProperty {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$Name)
    if ($LiteralPath -notlike 'HKLM:\*') {
        return Microsoft.PowerShell.Management\Get-ItemProperty @PSBoundParameters
    }
    $key = Get-RegistryKey -World (Read-World) -Path $LiteralPath
    if ($null -eq $key) {
        Write-Error -Message "Cannot find path '$LiteralPath' because it does not exist."
        return
    }
    if ($key.Keys -notcontains $Name) {
        Write-Error -Message "Property $Name does not exist at path $LiteralPath."
        return
    }
    [pscustomobject]@{ $Name = $key[$Name] }
}

function New-ItemProperty {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$Name, [string]$PropertyType, $Value, [switch]$Force)
    $world = Read-World
    if (-not (Test-RegistryKey -World $world -Path $LiteralPath)) {
        throw "Cannot find path '$LiteralPath' because it does not exist."
    }
    $key = Get-RegistryKey -World $world -Path $LiteralPath
    if ($null -eq $key) {
        $key = @{}
        (Get-Registry -World $world)[$LiteralPath] = $key
    }
    if ($key.Keys -contains $Name -and -not $Force) {
        throw 'The property already exists.'
    }
    $key[$Name] = $Value
    Save-World -World $world -Said "New-ItemProperty $LiteralPath $Name=$Value"
}

function Get-ItemPropertyValue {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$Name)
    $key = Get-RegistryKey -World (Read-World) -Path $LiteralPath
    if ($null -eq $key) {
        throw "Cannot find path '$LiteralPath' because it does not exist."
    }
    if ($key.Keys -notcontains $Name) {
        throw "Property $Name does not exist at path $LiteralPath."
    }
    $key[$Name]
}

# A key with its values, as .NET reads them.
function Get-Item {
    [CmdletBinding()]
    param([string]$LiteralPath)
    if ($LiteralPath -notlike 'HKLM:\*') {
        return Microsoft.PowerShell.Management\Get-Item @PSBoundParameters
    }
    $key = Get-RegistryKey -World (Read-World) -Path $LiteralPath
    if ($null -eq $key) {
        throw "Cannot find path '$LiteralPath' because it does not exist."
    }
    $found = [pscustomobject]@{ Values = $key }
    $found | Add-Member -MemberType ScriptMethod -Name 'GetValue' -Value {
        param($Name, $Default, $Options)
        if ($Options -ne 'DoNotExpandEnvironmentNames') {
            throw 'the variables would be lost'
        }
        if ($this.Values.ContainsKey($Name)) { $this.Values[$Name] } else { $Default }
    }
    $found
}

function Set-ItemProperty {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$Name, $Value)
    $world = Read-World
    $key = Get-RegistryKey -World $world -Path $LiteralPath
    if ($null -eq $key) {
        throw "Cannot find path '$LiteralPath' because it does not exist."
    }
    $key[$Name] = $Value
    Save-World -World $world -Said "Set-ItemProperty $Name=$Value"
}
