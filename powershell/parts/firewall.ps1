# Rules of the firewall that let something in, on every network: it does not matter which one Windows takes it for.

function Test-WdevFirewallRule {
    param([string]$Name)
    $rule = Get-NetFirewallRule -Name $Name -ErrorAction SilentlyContinue
    $null -ne $rule -and $rule.Enabled -eq 'True' -and $rule.Profile -eq 'Any' -and $rule.Action -eq 'Allow'
}

# Makes the rule, or opens one of that name that lets less in; `Traffic` is what a new one lets in, as
# `New-NetFirewallRule` takes it.
function Set-WdevFirewallRule {
    param([string]$Name, [string]$DisplayName, [hashtable]$Traffic)
    if (Test-WdevFirewallRule -Name $Name) {
        return
    }
    if ($null -eq (Get-NetFirewallRule -Name $Name -ErrorAction SilentlyContinue)) {
        $rule = @{
            Name = $Name
            DisplayName = $DisplayName
            Direction = 'Inbound'
            Action = 'Allow'
            Profile = 'Any'
            Enabled = 'True'
        }
        [void](New-NetFirewallRule @rule @Traffic)
    } else {
        Set-NetFirewallRule -Name $Name -Enabled 'True' -Profile 'Any' -Action 'Allow'
    }
}
