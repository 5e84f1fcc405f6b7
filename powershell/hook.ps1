<#
.SYNOPSIS
Runs a script of the user's own.

.DESCRIPTION
It runs in a PowerShell of its own, as a file, with its own exit code: another one than 0 is a failure. It counts as
done when it has run to its end in its present form.

Data: text (the script).
#>


function Invoke-WdevRun {
    $file = $WdevWork + '\' + $WdevName + '.ps1'
    # The mark tells Windows PowerShell that this is UTF-8.
    Write-WdevFile -Path $file -Text ([string][char]0xFEFF + $WdevData.text)
    try {
        $path = Resolve-WdevPath -Path $file
        $arguments = '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', $path
        Invoke-WdevNative -FilePath 'powershell' -ArgumentList $arguments
    } finally {
        Remove-Item -LiteralPath $file -Force
    }
}

function Invoke-WdevProbe {
    if (-not (Test-WdevStamp)) {
        Stop-WdevProbe -Reason 'this script has not run yet in its present form'
    }
}
