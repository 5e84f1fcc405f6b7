# The host network service. `hns` has its networks and, when it is broken, `says` (its words) and `heals` (`restart`,
# `data` or `never`). With `asks` it answers
# after so many questions. Where `hns_cmdlets` is false the machine has no cmdlets for it.

function Get-Hns {
    param($World)
    Get-Part -World $World -Name 'hns' -Default @{ networks = @() }
}

# As of a script module: an error that ends nothing unless `-ErrorAction` says so.
function Get-HnsFailure {
    param($World, [string]$Command)
    if ((Get-Features -World $World)['Containers'] -ne 'Installed') {
        throw "The term '$Command' is not recognized as the name of a cmdlet, function, script file, or operable program."
    }
    # Being asked starts the service, unless it is disabled.
    $hns = Get-Hns -World $World
    if ($World.services['hns'].StartType -eq 'Disabled') {
        return 'HNS failed with error : The service cannot be started, either because it is disabled or because it has no enabled devices associated with it.'
    }
    if ($hns.ContainsKey('says')) {
        'HNS failed with error : ' + $hns.says
        if ($hns.ContainsKey('asks')) {
            $hns.asks--
            if ($hns.asks -eq 0) {
                $hns.Remove('says')
            }
            Write-World -World $World
        }
    }
}

function Get-HnsNetwork {
    [CmdletBinding()]
    param()
    $world = Read-World
    $failure = Get-HnsFailure -World $world -Command 'Get-HnsNetwork'
    if ($failure) {
        Write-Error -Message $failure
        return
    }
    @((Get-Hns -World $world).networks) | ForEach-Object { [pscustomobject]$_ }
}

function Remove-HnsNetwork {
    [CmdletBinding()]
    param([Parameter(ValueFromPipeline)][object[]]$InputObjects)
    process {
        foreach ($network in $InputObjects) {
            $world = Read-World
            $failure = Get-HnsFailure -World $world -Command 'Remove-HnsNetwork'
            if ($failure) {
                Write-Error -Message $failure
                return
            }
            $hns = Get-Hns -World $world
            $hns.networks = @($hns.networks | Where-Object { $_.Name -ne $network.Name })
            Save-World -World $world -Said "Remove-HnsNetwork $($network.Name)"
        }
    }
}

if ((Microsoft.PowerShell.Management\Test-Path -LiteralPath $worldPath) -and (Read-World)['hns_cmdlets'] -is [bool]) {
    Remove-Item -LiteralPath 'function:Get-HnsNetwork'
    Remove-Item -LiteralPath 'function:Remove-HnsNetwork'
}

# What a new start of the service does to it.
function Start-Hns {
    param($World)
    $hns = Get-Hns -World $World
    $heals = if ($hns.ContainsKey('heals')) { $hns.heals } else { 'never' }
    $data = Microsoft.PowerShell.Management\Test-Path -LiteralPath 'C:\ProgramData\Microsoft\Windows\HNS\HNS.data'
    if ($heals -eq 'restart' -or ($heals -eq 'data' -and -not $data)) {
        [void]$hns.Remove('says')
    }
}
