<#
.SYNOPSIS
Waits until this node is Ready, and says meanwhile what is in the way.

.DESCRIPTION
Reads from $WdevData:
  node, address  the name and the address that the cluster must know this node under
  kubelet        the version that it must tell, with `v`; empty where any will do
  runtime        the name of the container runtime, and its version where it must be that one: containerd://2.3.4
  patience       seconds to wait

Changes nothing. While it waits it tells each condition of the node that is in the way, with its message, whenever
that changes, and which images are still being pulled. When it gives up it ends with what the services say of
themselves and the last words of the kubelet.

Run it by hand as an administrator: powershell -ExecutionPolicy Bypass -File .\node-ready.ps1

To look at it by hand:
  C:\k\kubectl.exe --kubeconfig C:\etc\kubernetes\kubelet.conf describe node NAME
  Get-Service containerd, kubelet
  Get-Content C:\var\log\kubelet\kubelet.log -Tail 20

.NOTES
Conditions of nodes: https://kubernetes.io/docs/reference/node/node-status/
A node may list the pods that are bound to it: https://kubernetes.io/docs/reference/access-authn-authz/node/
#>

# The conditions of the node that are not as they are to be: `Ready` is not true, or another one is.
function Get-WdevBadCondition {
    $mark = $WdevMark
    $template = 'jsonpath={range .status.conditions[*]}' + $mark + '{.type}|{.status}|{.reason}|{.message}{''\n''}{end}'
    $said = @(Read-WdevCluster -ArgumentList 'get', 'node', $WdevData.node, '-o', $template)
    $ready = $false
    $bad = @(foreach ($line in $said) {
        $type, $status, $reason, $message = $line.Split('|', 4)
        $wanted = 'False'
        if ($type -eq 'Ready') {
            $wanted = 'True'
            $ready = $true
        }
        if ($status -ne $wanted) {
            $type + ' is ' + $status + ': ' + $reason + ': ' + $message
        }
    })
    if (-not $ready) {
        'it has not told yet whether it is Ready'
    }
    $bad
}

# The containers of this node that wait for something, by image and reason.
function Get-WdevWaitingContainer {
    $of = '{range .status.KINDStatuses[*]}|{.image}|{.state.waiting.reason}{end}'
    $template = 'jsonpath={range .items[*]}' + $WdevMark + '{.metadata.namespace}/{.metadata.name}' +
        $of.Replace('KIND', 'initContainer') + $of.Replace('KIND', 'container') + '{''\n''}{end}'
    $arguments = 'get', 'pods', '--all-namespaces', ('--field-selector=spec.nodeName=' + $WdevData.node), '-o', $template
    foreach ($line in @(Read-WdevCluster -ArgumentList $arguments)) {
        $parts = $line.Split('|')
        for ($at = 1; $at + 1 -lt $parts.Count; $at += 2) {
            if ($parts[$at + 1] -ne '') {
                $parts[0] + ' waits for ' + $parts[$at] + ' (' + $parts[$at + 1] + ')'
            }
        }
    }
}

# What keeps this node from being Ready, a line each; nothing when it is.
function Get-WdevObstacle {
    foreach ($name in 'containerd', 'kubelet') {
        $service = Get-WdevService -Name $name
        if ($null -eq $service -or $service.State -ne 'Running') {
            'the service ' + $name + ' does not run'
        }
    }
    try {
        $known = Read-WdevNode -Node $WdevData.node
        if ($known.Address -cne $WdevData.address) {
            'it is known under the address ' + $known.Address + ', not ' + $WdevData.address
        }
        if ($WdevData.kubelet -ne '' -and $known.Kubelet -cne $WdevData.kubelet) {
            'its kubelet tells the version ' + $known.Kubelet + ', not ' + $WdevData.kubelet
        }
        $runtime = $known.Runtime
        if ($runtime -cne $WdevData.runtime -and -not $runtime.StartsWith($WdevData.runtime + ':', 'Ordinal')) {
            'its container runtime is ' + $runtime + ', not ' + $WdevData.runtime
        }
        Get-WdevBadCondition
    } catch {
        'the cluster cannot be asked: ' + $_.Exception.Message
    }
}

# What helps to wait, but is no reason to.
function Get-WdevProgress {
    try {
        Get-WdevWaitingContainer
    } catch {
        Write-Verbose -Message 'the pods are told of later'
    }
}

# Whether waiting is of no use: a service that ended and does not come again.
function Test-WdevDead {
    $service = Get-WdevService -Name 'kubelet'
    $null -eq $service -or $service.State -eq 'Paused' -or $service.StartMode -eq 'Disabled'
}

function Invoke-WdevRun {
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    $told = @()
    while ($true) {
        $obstacles = @(Get-WdevObstacle)
        if ($obstacles.Count -eq 0) {
            break
        }
        if ((Test-WdevDead) -or $clock.Elapsed.TotalSeconds -ge $WdevData.patience) {
            Stop-WdevStep -Reason ($WdevData.node + ' is not Ready: ' + ((@($obstacles) + @(Get-WdevProgress)) -join '; '))
        }
        $now = @($obstacles) + @(Get-WdevProgress)
        foreach ($line in @($now | Where-Object -FilterScript { $told -cnotcontains $_ })) {
            Write-WdevLog -Text ('waiting: ' + $line)
        }
        $told = $now
        Start-Sleep -Seconds 2
    }
    Write-WdevLog -Text ($WdevData.node + ' is Ready')
}

function Invoke-WdevProbe {
    $obstacles = @(Get-WdevObstacle)
    if ($obstacles.Count -gt 0) {
        Stop-WdevProbe -Reason ($WdevData.node + ' is not Ready: ' + ($obstacles -join '; '))
    }
}
