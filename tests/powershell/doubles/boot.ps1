# What a boot does: names, features and services take effect. A test asks for one with `boot_wanted`.

function Test-Boot {
    param($World)
    $World.ContainsKey('boot_wanted') -and $World.boot_wanted
}

# What happens at the next boots: `next_boots` is a list of worlds, of which each boot lays the first one over this.
function Invoke-NextBoot {
    param($World)
    if (-not $World.ContainsKey('next_boots') -or @($World.next_boots).Count -eq 0) {
        return
    }
    $new, $later = $World.next_boots
    $World.next_boots = @($later | Where-Object { $null -ne $_ })
    foreach ($key in @($new.Keys)) {
        $World[$key] = $new[$key]
    }
}

function Invoke-Boot {
    param($World)
    [void]$World.Remove('boot_wanted')
    $World.boot = ([datetime]$World.boot).ToUniversalTime().AddMinutes(5).ToString('yyyy-MM-ddTHH:mm:ssZ')
    if ($World.ContainsKey('names')) {
        $World.names.ActiveComputerName = $World.names.ComputerName
    }
    $settled = @{
        InstallPending = 'Installed'; UninstallPending = 'Available'
        EnablePending = 'Enabled'; DisablePending = 'Disabled'
    }
    foreach ($part in (Get-Features -World $World), (Get-Components -World $World)) {
        foreach ($name in @($part.Keys)) {
            if ($settled.ContainsKey($part[$name])) {
                $part[$name] = $settled[$part[$name]]
            }
        }
    }
    $registry = Get-Registry -World $World
    foreach ($key in $rebootKeys) {
        [void]$registry.Remove($key)
    }
    Add-FeatureServices -World $World
    foreach ($service in $World.services.Values) {
        $trigger = 'HKLM:\SYSTEM\CurrentControlSet\Services\' + $service.Name + '\TriggerInfo\0'
        $starts = $service.StartType -eq 'Automatic' -and -not (Test-RegistryKey -World $World -Path $trigger)
        $service.Status = if ($starts) { 'Running' } else { 'Stopped' }
    }
    Invoke-NextBoot -World $World
}
