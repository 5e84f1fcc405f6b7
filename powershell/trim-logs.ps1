<#
.SYNOPSIS
Keeps the logs of a node's services from filling its disk.

.DESCRIPTION
Of each log in a folder of C:\var\log that has more than 100 MB, the last 100 MB become a file beside it with `.1` at
the end of its name, in the place of the one before; the log begins anew. The service that writes it goes on: it
appends, and needs no restart. wdev has Windows run this as the task `wdev-trim-logs`, every hour.

Logs of pods (C:\var\log\pods, C:\var\log\containers) are the kubelet's own affair.

By hand: powershell -ExecutionPolicy Bypass -File C:\ProgramData\wdev\trim-logs.ps1

.NOTES
kube-log-runner below 1.34 and containerd have no rotation of their own: kubernetes/kubernetes #127667
#>
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

function Limit-WdevLog {
    param([string]$Path, [long]$Largest)
    $share = [System.IO.FileShare]::ReadWrite -bor [System.IO.FileShare]::Delete
    $open = [System.IO.FileMode]::Open
    $log = New-Object -TypeName 'System.IO.FileStream' -ArgumentList @(
        $Path, $open, [System.IO.FileAccess]::ReadWrite, $share
    )
    try {
        if ($log.Length -le $Largest) {
            return
        }
        $older = New-Object -TypeName 'System.IO.FileStream' -ArgumentList @(
            ($Path + '.1'), [System.IO.FileMode]::Create, [System.IO.FileAccess]::Write
        )
        try {
            [void]$log.Seek(-$Largest, [System.IO.SeekOrigin]::End)
            $log.CopyTo($older)
        } finally {
            $older.Dispose()
        }
        $log.SetLength(0)
    } finally {
        $log.Dispose()
    }
}

$WdevLargest = 100MB
if ($env:WDEV_LARGEST_LOG) {
    $WdevLargest = [long]$env:WDEV_LARGEST_LOG
}
foreach ($folder in 'containerd', 'kubelet', 'kube-proxy') {
    $path = 'C:\var\log\' + $folder
    if (Test-Path -LiteralPath $path) {
        foreach ($file in @(Get-ChildItem -LiteralPath $path -Filter '*.log' -File)) {
            Limit-WdevLog -Path $file.FullName -Largest $WdevLargest
        }
    }
}
