# Features and capabilities.

function Get-WindowsCapability {
    [CmdletBinding()]
    param([switch]$Online, [string]$Name)
    if ('OpenSSH.Server~~~~0.0.1.0' -like $Name) {
        [pscustomobject]@{ Name = 'OpenSSH.Server~~~~0.0.1.0'; State = 'NotPresent' }
    }
}

function Add-WindowsCapability {
    [CmdletBinding()]
    param([switch]$Online, [string]$Name)
    $world = Read-World
    Assert-Work -World $world -Command 'Add-WindowsCapability'
    $world.services['sshd'] = @{ Name = 'sshd'; Status = 'Stopped'; StartType = 'Manual' }
    Save-World -World $world -Said "Add-WindowsCapability $Name"
    [pscustomobject]@{ RestartNeeded = $false }
}
