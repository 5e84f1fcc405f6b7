# Functions for wdev's scripts on Windows nodes, laid into each of them.

# The path as .NET understands it: .NET knows no drives of PowerShell's own.
function Resolve-WdevPath {
    param([string]$Path)
    $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Path)
}

# Puts the file `From` in the place of `To` in one move.
function Move-WdevFile {
    param([string]$From, [string]$To)
    $source = Resolve-WdevPath -Path $From
    $target = Resolve-WdevPath -Path $To
    $tries = 0
    while ($true) {
        try {
            if ([System.IO.File]::Exists($target)) {
                [System.IO.File]::Replace($source, $target, [NullString]::Value)
            } else {
                [System.IO.File]::Move($source, $target)
            }
            return
        } catch {
            # A virus scanner may have either open for a moment.
            $tries++
            if ($tries -ge 5) {
                throw
            }
            Start-Sleep -Milliseconds 200
        }
    }
}

# Writes a text as UTF-8, in one move and through to the disk.
function Write-WdevFile {
    param([string]$Path, [AllowEmptyString()][string]$Text)
    $new = $Path + '.new'
    $bytes = (New-Object -TypeName System.Text.UTF8Encoding -ArgumentList $false).GetBytes($Text)
    $file = [System.IO.File]::Open((Resolve-WdevPath -Path $new), 'Create', 'Write', 'None')
    try {
        $file.Write($bytes, 0, $bytes.Length)
        $file.Flush($true)
    } finally {
        $file.Dispose()
    }
    Move-WdevFile -From $new -To $Path
}

# Runs a program to its end and passes on what it prints, both streams in one. Another exit code than
# `Good` is an error; 3010 and 1641, with which installers ask for a reboot or say that they have begun
# one, ask for a reboot where `Installer` is given.
function Invoke-WdevNative {
    param([string]$FilePath, [string[]]$ArgumentList = @(), [int[]]$Good = @(0), [switch]$Installer)
    foreach ($argument in $ArgumentList) {
        # Windows PowerShell would hand it on as something else.
        if ($argument -eq '' -or $argument.Contains('"')) {
            throw ('an argument of ' + $FilePath + ' is empty or holds a double quote')
        }
    }
    # Here alone a word on stderr is no error.
    $ErrorActionPreference = 'Continue'
    $last = ''
    & $FilePath @ArgumentList 2>&1 | ForEach-Object -Process {
        $line = [string]$_
        if ($_ -is [System.Management.Automation.ErrorRecord]) {
            $line = $_.Exception.Message
        }
        if ($line.Trim() -ne '') {
            $last = $line.Trim()
        }
        $line
    }
    $code = $LASTEXITCODE
    $ErrorActionPreference = 'Stop'
    if ($Installer -and (3010, 1641) -contains $code) {
        Request-WdevReboot
    } elseif ($Good -notcontains $code) {
        $text = $FilePath + ' ended with exit code ' + $code + ': ' + $last
        $failure = New-Object -TypeName System.InvalidOperationException -ArgumentList $text
        $failure.Data['WdevCode'] = $code
        throw $failure
    }
}

# Leaves SYSTEM and the administrators alone with a file or a folder, by number: their names are
# translated.
function Set-WdevOwnersOnly {
    param([string]$Path, [string]$Inherit = '')
    $grants = @('S-1-5-18', 'S-1-5-32-544') | ForEach-Object -Process { '*' + $_ + ':' + $Inherit + 'F' }
    $arguments = @((Resolve-WdevPath -Path $Path), '/inheritance:r', '/grant:r') + $grants + '/q'
    Invoke-WdevNative -FilePath 'icacls.exe' -ArgumentList $arguments | Out-Null
}

# Makes a folder that only SYSTEM and the administrators can read. One that is there is made so too: a run
# may have been ended right after it made the folder.
function Protect-WdevFolder {
    param([string]$Path)
    [void][System.IO.Directory]::CreateDirectory((Resolve-WdevPath -Path $Path))
    Set-WdevOwnersOnly -Path $Path -Inherit '(OI)(CI)'
}
