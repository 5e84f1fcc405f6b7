# Runs a program with exactly the arguments that it is given.

# As `CommandLineToArgvW` and the C runtime read it back. PowerShell's own way loses double quotes and
# empty arguments before version 7.3.
function ConvertTo-WdevArgument {
    param([AllowEmptyString()][string]$Text)
    if ($Text -match '\A[A-Za-z0-9_./:=\\-]+\z') {
        return $Text
    }
    '"' + (($Text -replace '(\\*)"', '$1$1\"') -replace '(\\+)\z', '$1$1') + '"'
}

# Returns the exit code. The program has the streams of this process for its own.
function Invoke-WdevProgram {
    param([string[]]$Words)
    $name = [System.Management.Automation.WildcardPattern]::Escape($Words[0])
    $found = @(Get-Command -Name $name -CommandType Application -ErrorAction SilentlyContinue)
    $rest = @($Words | Select-Object -Skip 1)
    if ($found.Count -eq 0) {
        $hint = '; a command of PowerShell goes as: powershell -Command ...'
        [Console]::Error.WriteLine('there is no program ' + $Words[0] + $hint)
        return 127
    }
    if ($found[0].Extension -match '\A\.(bat|cmd)\z' -and @($rest -match '["%\r\n]').Count -gt 0) {
        throw 'a batch file cannot be given an argument with a double quote, a percent sign or a line end'
    }
    try {
        [Console]::OutputEncoding = New-Object -TypeName System.Text.UTF8Encoding -ArgumentList $false
    } catch {
        Write-Verbose -Message 'there is no console'
    }
    $start = New-Object -TypeName System.Diagnostics.ProcessStartInfo
    $start.FileName = $found[0].Path
    $start.Arguments = @($rest | ForEach-Object -Process { ConvertTo-WdevArgument -Text $_ }) -join ' '
    $start.UseShellExecute = $false
    $process = [System.Diagnostics.Process]::Start($start)
    $process.WaitForExit()
    $process.ExitCode
}
