# What a Windows node asks the cluster about itself, and what it tells when something is wrong. Needs services.ps1.

$WdevKubernetes = 'C:\etc\kubernetes'
$WdevKubeletFolder = 'C:\var\lib\kubelet'
$WdevKubeletLogs = 'C:\var\log\kubelet'
$WdevKubeletConf = $WdevKubernetes + '\kubelet.conf'
# For the words of jsonpath, which stand beside what a program says on its other stream.
$WdevMark = 'wdev|'

# Lets a line through without what could be a join token or a bearer token.
function Hide-WdevSecret {
    param([AllowEmptyString()][string]$Text)
    $token = '(?<![a-z0-9])[a-z0-9]{6}\.[a-z0-9]{16}(?![a-z0-9])'
    $Text -creplace $token, '(hidden)' -replace '(bearer +)[^ "]+', '$1(hidden)'
}

# Asks the cluster with the node's own credentials, or with `Kubeconfig`. Returns the lines with the mark, without it.
# No argument holds a double quote: jsonpath takes single ones too.
function Read-WdevCluster {
    param([string[]]$ArgumentList, [string]$Kubeconfig = $WdevKubeletConf)
    $all = @(('--kubeconfig=' + $Kubeconfig), '--request-timeout=10s') + $ArgumentList
    try {
        $lines = @(Invoke-WdevNative -FilePath 'C:\k\kubectl.exe' -ArgumentList $all)
    } catch {
        throw (Hide-WdevSecret -Text $_.Exception.Message)
    }
    foreach ($line in $lines) {
        if ($line.StartsWith($WdevMark, 'Ordinal')) {
            $line.Substring($WdevMark.Length)
        }
    }
}

# What the cluster knows of a node: address, kubelet, runtime.
function Read-WdevNode {
    param([string]$Node, [string]$Kubeconfig = $WdevKubeletConf)
    $template = 'jsonpath=' + $WdevMark + '{.status.addresses[?(@.type==''InternalIP'')].address}' +
        '|{.status.nodeInfo.kubeletVersion}|{.status.nodeInfo.containerRuntimeVersion}'
    $said = @(Read-WdevCluster -ArgumentList 'get', 'node', $Node, '-o', $template -Kubeconfig $Kubeconfig)
    $parts = ($said[0] + '||').Split('|')
    [pscustomobject]@{
        Address = $parts[0].Split(' ')[0]
        Kubelet = $parts[1]
        Runtime = $parts[2]
    }
}

# What the services of the node say of themselves, and the last words of the kubelet: what it is to be known by.
function Get-WdevTrouble {
    foreach ($name in 'containerd', 'kubelet') {
        $service = Get-WdevService -Name $name
        if ($null -eq $service) {
            'there is no service ' + $name
        } elseif ($service.State -ne 'Running') {
            $code = $service.ExitCode
            # ERROR_SERVICE_SPECIFIC_ERROR: the service has a code of its own.
            if ($code -eq 1066) {
                $code = $service.ServiceSpecificExitCode
            }
            'the service ' + $name + ' is ' + $service.State.ToLowerInvariant() + ', with exit code ' + $code
        }
    }
    # The newest that says something: what Go prints when it gives up is in another one than klog's words.
    $logs = @()
    if (Test-Path -LiteralPath $WdevKubeletLogs) {
        # A folder tells the length of a file that is still open as it was before; the file itself knows.
        $logs = @(Get-ChildItem -LiteralPath $WdevKubeletLogs -Filter '*.log' | ForEach-Object -Process {
            Get-Item -LiteralPath ($WdevKubeletLogs + '\' + $_.Name)
        } | Where-Object -FilterScript { $_.Length -gt 0 })
    }
    if ($logs.Count -eq 0) {
        return ('the kubelet has written nothing into ' + $WdevKubeletLogs)
    }
    foreach ($log in @($logs | Sort-Object -Property 'LastWriteTimeUtc' -Descending | Select-Object -First 2)) {
        $path = $WdevKubeletLogs + '\' + $log.Name
        # Not the stacks of Go's programs, nor the list of all flags: what is said is above or below them.
        $lines = @(Get-Content -LiteralPath $path -Tail 300 | Where-Object -FilterScript {
            $_.Trim() -ne '' -and $_ -cnotmatch '\A(\s|goroutine |created by |k8s\.io/|main\.)'
        })
        'the end of ' + $path + ':'
        $lines | Select-Object -Last 12 | ForEach-Object -Process { Hide-WdevSecret -Text $_ }
    }
}

# Gives up: what went wrong, and what the node says of it.
function Stop-WdevStep {
    param([string]$Reason)
    $words = @($Reason)
    try {
        $words += @(Get-WdevTrouble)
    } catch {
        $words += 'what the node says of it could not be read: ' + $_.Exception.Message
    }
    throw ($words -join "`n")
}
