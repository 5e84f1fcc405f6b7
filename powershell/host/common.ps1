# What the scripts of this folder share: parameters in, results out, addresses, overlaps.
#
# Every script takes `-ParametersFile FILE`, a JSON object, and may be run again at any time. stdout has
# JSON, one object a line: `change` for what was changed, then exactly one `result` or `failure`. A run
# without one of these two has not come to its end. Words for people go to stderr.
# Exit codes: 0 done, 1 the parameters cannot be used, 4 this host is not ready, 5 a cmdlet failed.
#
# Nothing before the check of the language mode calls .NET: a locked-down host must get an answer too.

Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

# In the notes of each switch that wdev makes; a switch without it is not ours.
$script:Mark = 'Made by wdev; removed with its last sandbox.'
# The same on every Windows client, while its name is translated.
# https://learn.microsoft.com/windows-server/virtualization/hyper-v/default-switch
$script:DefaultSwitchId = 'c08cb7b8-9b3c-408e-8e30-5e16a3aeb444'

function Test-Language {
    return [string]$ExecutionContext.SessionState.LanguageMode -eq 'FullLanguage'
}

# Prints one object as one line of ASCII: a redirected stdout of 5.1 is in the console's code page.
function Write-Line {
    param([Parameter(Mandatory)] [object] $Data)
    $json = ConvertTo-Json -InputObject $Data -Compress -Depth 6
    $characters = foreach ($character in $json.ToCharArray()) {
        if ([int]$character -gt 126) { '\u{0:x4}' -f [int]$character } else { $character }
    }
    $line = -join $characters
    # Past the pipeline, so that no caller's assignment swallows it.
    if (Test-Language) { [Console]::Out.WriteLine($line) } else { Write-Output -InputObject $line }
}

function Write-Change {
    param([Parameter(Mandatory)] [string] $Text)
    Write-Line -Data ([ordered]@{ type = 'change'; text = $Text })
}

function Write-Result {
    param([hashtable] $Data = @{})
    $line = [ordered]@{ type = 'result' }
    foreach ($key in $Data.Keys) { $line[$key] = $Data[$key] }
    Write-Line -Data $line
}

# Ends the script with a failure that a person can act on. Failure has Id (one word of a fixed list, for
# programs) and Message, and may have Why, Advice and Code.
function Exit-Failure {
    param([Parameter(Mandatory)] [hashtable] $Failure)
    $line = [ordered]@{ type = 'failure'; id = $Failure.Id; message = $Failure.Message; why = ''; advice = @() }
    if ($Failure.ContainsKey('Why')) { $line['why'] = $Failure.Why }
    if ($Failure.ContainsKey('Advice')) { $line['advice'] = @($Failure.Advice) }
    Write-Line -Data $line
    if ($Failure.ContainsKey('Code')) { exit $Failure.Code }
    exit 4
}

# Ends the script because a cmdlet failed.
function Exit-CmdletFailure {
    param(
        [Parameter(Mandatory)] [string] $Doing,
        [Parameter(Mandatory)] [object] $ErrorRecord
    )
    # By class and number, since the words are translated.
    $id = 'cmdlet'
    $advice = @()
    $kind = [string]$ErrorRecord.CategoryInfo.Category
    $words = [string]$ErrorRecord.FullyQualifiedErrorId
    if ($kind -eq 'PermissionDenied' -or $words -match 'AccessDenied|Windows System Error 5\b') {
        $id = 'access-denied'
        $advice = @('run the same in a PowerShell or terminal that was started with `Run as administrator`')
    }
    Exit-Failure @{
        Id = $id
        Message = "could not $Doing"
        Why = $ErrorRecord.ToString()
        Advice = $advice
        Code = 5
    }
}

# Reads the parameters and checks that they are these, and nothing else: Names to a pattern each.
function Read-Parameter {
    param(
        [Parameter(Mandatory)] [string] $Path,
        [Parameter(Mandatory)] [hashtable] $Names
    )
    try {
        $text = Get-Content -LiteralPath $Path -Raw -Encoding UTF8
        $given = ConvertFrom-Json -InputObject $text
        $properties = @($given.PSObject.Properties)
    } catch {
        Exit-Failure @{
            Id = 'parameters'
            Message = "cannot read the parameters in ``$Path``"
            Why = $_.ToString()
            Code = 1
        }
    }
    $values = @{}
    foreach ($property in $properties) { $values[$property.Name] = $property.Value }
    $wrong = @(
        foreach ($name in $Names.Keys) {
            if (-not $values.ContainsKey($name)) {
                "``$name`` is missing"
            } elseif ([string]$values[$name] -notmatch $Names[$name]) {
                "``$name`` cannot be ``$($values[$name])``"
            }
        }
        foreach ($name in $values.Keys) {
            if (-not $Names.Contains($name)) { "``$name`` is unknown" }
        }
    )
    if ($wrong.Count -gt 0) {
        Exit-Failure @{
            Id = 'parameters'
            Message = "the parameters in ``$Path`` cannot be used"
            Why = ($wrong -join '; ')
            Code = 1
        }
    }
    return $values
}

# Without full language mode neither these scripts nor Vagrant's can do their work.
function Assert-Language {
    if (-not (Test-Language)) {
        Exit-Failure @{
            Id = 'language-mode'
            Message = 'PowerShell may not do what is needed on this host'
            Why = "its language mode is ``$($ExecutionContext.SessionState.LanguageMode)``"
            Advice = @(
                'an application control policy (WDAC or AppLocker) sets this; ask who manages this computer'
            )
        }
    }
}

# An IPv4 address as a number.
function ConvertTo-Number {
    param([Parameter(Mandatory)] [string] $Address)
    $number = [long]0
    foreach ($part in $Address.Split('.')) { $number = $number * 256 + [long]$part }
    return $number
}

# The first and last address of `a.b.c.d/n`, as numbers.
function Get-Range {
    param([Parameter(Mandatory)] [string] $Subnet)
    $address, $prefix = $Subnet.Split('/')
    $size = [long]1
    for ($n = [int]$prefix; $n -lt 32; $n++) { $size = $size * 2 }
    $number = ConvertTo-Number -Address $address
    $first = $number - $number % $size
    return @{ First = $first; Last = $first + $size - 1 }
}

function Test-Overlap {
    param([Parameter(Mandatory)] [string] $One, [Parameter(Mandatory)] [string] $Other)
    $a = Get-Range -Subnet $One
    $b = Get-Range -Subnet $Other
    return ($a.First -le $b.Last) -and ($b.First -le $a.Last)
}

# What on this host has addresses of the subnet, in words; the interface OwnIndex does not count.
function Get-Overlap {
    param([Parameter(Mandatory)] [string] $Subnet, [int] $OwnIndex = -1)
    $named = @{}
    foreach ($item in @(Get-NetIPAddress -AddressFamily IPv4)) {
        if ([int]$item.InterfaceIndex -eq $OwnIndex) { continue }
        $range = '{0}/{1}' -f $item.IPAddress, $item.PrefixLength
        if (Test-Overlap -One $Subnet -Other $range) {
            $named[[int]$item.InterfaceIndex] = $true
            "the adapter ``$($item.InterfaceAlias)`` has the address $range"
        }
    }
    foreach ($item in @(Get-NetRoute -AddressFamily IPv4)) {
        $index = [int]$item.InterfaceIndex
        # An adapter's own routes say the same again.
        if ($index -eq $OwnIndex -or $named.ContainsKey($index)) { continue }
        # Shorter ones are the way to everywhere: the default route, or its two halves of a VPN.
        $prefix = [int]$item.DestinationPrefix.Split('/')[1]
        if ($prefix -ge 8 -and (Test-Overlap -One $Subnet -Other $item.DestinationPrefix)) {
            "the route $($item.DestinationPrefix) goes through ``$($item.InterfaceAlias)``"
        }
    }
    try {
        $translations = @(Get-NetNat)
    } catch {
        [Console]::Error.WriteLine("Get-NetNat: $_")
        $translations = @()
    }
    foreach ($item in $translations) {
        $inside = [string]$item.InternalIPInterfaceAddressPrefix
        if ($inside -match '^[\d.]+/\d+$' -and (Test-Overlap -One $Subnet -Other $inside)) {
            "the address translation (NetNat) ``$($item.Name)`` serves $inside"
        }
    }
}

function Exit-Overlap {
    param([Parameter(Mandatory)] [string] $Subnet, [Parameter(Mandatory)] [string[]] $Overlaps)
    Exit-Failure @{
        Id = 'overlap'
        Message = "the address range $Subnet is in use on this host"
        Why = ($Overlaps -join '; ')
        Advice = @(
            'choose another range with `network.nodes` in `variables.yml`, such as `192.168.57.0/24`'
            'or disconnect or remove what has it'
        )
    }
}

# The switch of exactly this name, or nothing.
function Get-NamedSwitch {
    param([Parameter(Mandatory)] [string] $Name)
    return Get-VMSwitch | Where-Object -FilterScript { $_.Name -eq $Name } | Select-Object -First 1
}

function Test-OwnSwitch {
    param([Parameter(Mandatory)] [object] $Switch)
    return ([string]$Switch.SwitchType -eq 'Internal') -and ([string]$Switch.Notes -eq $script:Mark)
}

# The host's network adapter on an internal switch, or nothing while there is none (yet). By its id: its
# name differs when an earlier adapter of that name is remembered.
function Get-HostAdapter {
    param([Parameter(Mandatory)] [string] $SwitchName)
    $virtual = Get-VMNetworkAdapter -ManagementOS |
        Where-Object -FilterScript { $_.SwitchName -eq $SwitchName } | Select-Object -First 1
    if ($null -eq $virtual) { return }
    return Get-NetAdapter -IncludeHidden |
        Where-Object -FilterScript { $_.DeviceID -eq $virtual.DeviceId } | Select-Object -First 1
}

# The IPv4 addresses of an adapter that somebody gave it; an own address from 169.254 is nobody's.
function Get-GivenAddress {
    param([Parameter(Mandatory)] [int] $InterfaceIndex)
    return Get-NetIPAddress -AddressFamily IPv4 | Where-Object -FilterScript {
        [int]$_.InterfaceIndex -eq $InterfaceIndex -and $_.IPAddress -notlike '169.254.*'
    }
}

$script:Pattern = @{
    Switch  = '^wdev-[0-9.]+-[0-9]+$'
    Subnet  = '^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$'
    Address = '^[0-9]{1,3}(\.[0-9]{1,3}){3}$'
    Id      = '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'
    Flag    = '^(True|False)$'
    Text    = '(?s)^.+$'
    Any     = '(?s)^.*$'
}
