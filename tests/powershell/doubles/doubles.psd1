@{
    ModuleVersion = '1.0'
    GUID = '6f0f4a0e-5f0c-4b58-9d56-0a3c6b0c5f11'
    RootModule = 'doubles.psm1'
    FunctionsToExport = @(
        'Get-Service', 'Set-Service', 'Start-Service', 'Get-WindowsCapability', 'Add-WindowsCapability',
        'Get-NetFirewallRule', 'New-NetFirewallRule', 'Set-NetFirewallRule', 'Get-NetAdapter',
        'Get-NetIPAddress', 'New-NetIPAddress', 'Remove-NetIPAddress', 'Get-NetIPInterface',
        'Set-NetIPInterface', 'Get-CimInstance', 'Expand-Archive', 'Get-ItemPropertyValue', 'Rename-Computer'
    )
}
