# Users: `users` has what Windows keeps of each; without it the user's password expires in six weeks.

function Get-Users {
    param($World)
    $me = [Environment]::UserName
    Get-Part -World $World -Name 'users' -Default @{
        $me = @{ PasswordExpires = '2026-04-12T08:00:00Z'; AccountExpires = $null; PasswordLastSet = '2026-03-01T08:00:00Z' }
    }
}

function Get-LocalUser {
    [CmdletBinding()]
    param([string]$Name)
    $users = Get-Users -World (Read-World)
    if (-not $users.ContainsKey($Name)) {
        Write-Error -Message "User $Name was not found."
        return
    }
    $user = $users[$Name]
    $date = { param($Text) if ($null -ne $Text) { [datetime]$Text } }
    [pscustomobject]@{
        Name = $Name
        PasswordExpires = & $date $user.PasswordExpires
        AccountExpires = & $date $user.AccountExpires
        PasswordLastSet = & $date $user.PasswordLastSet
    }
}

function Set-LocalUser {
    [CmdletBinding()]
    param([string]$Name, [bool]$PasswordNeverExpires, [switch]$AccountNeverExpires)
    $world = Read-World
    $users = Get-Users -World $world
    if (-not $users.ContainsKey($Name)) {
        throw "User $Name was not found."
    }
    $said = "Set-LocalUser $Name"
    if ($PasswordNeverExpires) {
        $users[$Name].PasswordExpires = $null
        $said += ' -PasswordNeverExpires'
    }
    if ($AccountNeverExpires) {
        $users[$Name].AccountExpires = $null
        $said += ' -AccountNeverExpires'
    }
    Save-World -World $world -Said $said
}

function net.exe {
    $world = Read-World
    $users = Get-Users -World $world
    $global:LASTEXITCODE = 0
    if ($args.Count -ne 3 -or $args[0] -ne 'user' -or $args[2] -ne '/logonpasswordchg:no') {
        'The syntax of this command is:'
        $global:LASTEXITCODE = 1
    } elseif (-not $users.ContainsKey($args[1])) {
        'The user name could not be found.'
        $global:LASTEXITCODE = 2
    } else {
        $users[$args[1]].PasswordLastSet = '2026-03-01T08:00:00Z'
        Save-World -World $world -Said "net $args"
        'The command completed successfully.'
    }
}
