<#
.SYNOPSIS
Joins this node to the cluster, by `kubeadm join`.

.DESCRIPTION
Reads from $WdevData:
  node       the node's name, in lower case
  address    its own address, which the cluster must know it under
  server     the address of the API server, as a URL
  socket     the container runtime's pipe, as a URL
  config     the configuration for kubeadm, without a secret
  also       what else makes it join anew when it changes
  discovery  the file that the configuration names for discovery, as kubeadm reads it: from the root of C:
  kubelet    the line of the kubelet's service: before, arguments (name, value), after
  linksPki   whether kubeadm of this version looks for certificates below the kubelet's folder
  glance, patience  seconds that a look, and the wait for the cluster, may take

Is given two secrets: `join_token`, which is good for this join alone, and `cluster_ca`, the cluster's certificate in
base64. By hand they come from environment variables: WDEV_GIVEN_join_token, from `kubeadm token create` on the control
plane, and WDEV_GIVEN_cluster_ca, from `base64 -w 0 /etc/kubernetes/pki/ca.crt` there. They go into the discovery file
alone, which only administrators can read and which is gone again at the end.

Tells first what this node is: untouched; half (begun and not finished, or of another cluster, or joined with other
settings); joined; unknown (to the cluster); unclear (the API server cannot be asked). What is half is reset and joins
anew; what is unclear is left as it is.

Changes on the node: what kubeadm writes below C:\etc\kubernetes and C:\var\lib\kubelet; the line of the kubelet's
service, which gets the arguments that kubeadm wrote; the kubelet runs. What wdev knows of it is in
C:\ProgramData\wdev\cluster.

Reports: the fact `state`, of a probe.

Run it by hand as an administrator: powershell -ExecutionPolicy Bypass -File .\join.ps1

To look at it by hand:
  C:\k\kubectl.exe --kubeconfig C:\etc\kubernetes\kubelet.conf get node NAME -o wide
  Get-Content C:\var\lib\kubelet\kubeadm-flags.env
  (Get-CimInstance Win32_Service -Filter "Name = 'kubelet'").PathName

.NOTES
The join: kubernetes/kubernetes cmd/kubeadm/app/cmd/join.go and cmd/phases/join/kubelet.go
The reset: kubernetes/kubernetes cmd/kubeadm/app/cmd/phases/reset/cleanupnode.go
The discovery file: a path with a drive letter is taken for a URL, so it is named without one:
kubernetes/kubernetes cmd/kubeadm/app/apis/kubeadm/validation/validation.go, ValidateDiscoveryKubeConfigPath
#>

$WdevCluster = 'C:\ProgramData\wdev\cluster'
$WdevConfig = $WdevCluster + '\kubeadm.yaml'
$WdevBegun = $WdevCluster + '\begun'
$WdevJoined = $WdevCluster + '\joined'
$WdevDiscovery = 'C:' + $WdevData.discovery.Replace('/', '\')
$WdevCa = $WdevKubernetes + '\pki\ca.crt'
$WdevBootstrap = $WdevKubernetes + '\bootstrap-kubelet.conf'
$WdevKubeletConfig = $WdevKubeletFolder + '\config.yaml'
# What the programs of this run have said, for the end.
$WdevSaid = New-Object -TypeName 'System.Collections.Generic.List[string]'

function New-WdevState {
    param([string]$Name, [string]$Why = '')
    [pscustomobject]@{ Name = $Name; Why = $Why }
}

# A digest of the settings that a node joins with.
function Get-WdevSettings {
    $bytes = [System.Text.Encoding]::UTF8.GetBytes($WdevData.config + [char]0 + $WdevData.also)
    $sha = [System.Security.Cryptography.SHA256]::Create()
    try {
        'settings ' + [BitConverter]::ToString($sha.ComputeHash($bytes)).Replace('-', '').ToLowerInvariant()
    } finally {
        $sha.Dispose()
    }
}

function Test-WdevFilled {
    param([string]$Path)
    (Test-Path -LiteralPath $Path -PathType 'Leaf') -and (Get-Item -LiteralPath $Path).Length -gt 0
}

function Read-WdevBase64 {
    param([string]$Path)
    [Convert]::ToBase64String([System.IO.File]::ReadAllBytes((Resolve-WdevPath -Path $Path)))
}

# What this node is; `Ca` is empty where it is not known.
function Get-WdevState {
    param([AllowEmptyString()][string]$Ca)
    $all = $WdevKubeletConf, $WdevBootstrap, $WdevCa, $WdevKubeletConfig, $WdevBegun
    if (@($all | Where-Object -FilterScript { Test-Path -LiteralPath $_ }).Count -eq 0) {
        return New-WdevState -Name 'untouched' -Why 'this node has not joined'
    }
    $needed = $WdevKubeletConf, $WdevCa, $WdevKubeletConfig
    $lacking = @($needed | Where-Object -FilterScript { -not (Test-WdevFilled -Path $_) })
    if ((Test-Path -LiteralPath $WdevBegun) -or $lacking.Count -gt 0) {
        return New-WdevState -Name 'half' -Why 'a join was begun and never finished'
    }
    if ($Ca -ne '' -and $Ca -cne (Read-WdevBase64 -Path $WdevCa)) {
        return New-WdevState -Name 'half' -Why 'this node belongs to another cluster'
    }
    if ((Test-WdevFilled -Path $WdevJoined) -and (Get-Content -LiteralPath $WdevJoined) -cne (Get-WdevSettings)) {
        return New-WdevState -Name 'half' -Why 'the settings that it joined with have changed'
    }
    try {
        $known = Read-WdevNode -Node $WdevData.node
    } catch {
        return Get-WdevRefusal -Words $_.Exception.Message
    }
    if ($known.Address -cne $WdevData.address) {
        $text = 'the cluster knows this node under the address ' + $known.Address + ', not ' + $WdevData.address
        return New-WdevState -Name 'half' -Why $text.Replace('address ,', 'address (none),')
    }
    New-WdevState -Name 'joined'
}

# What it means that the cluster does not tell of this node.
function Get-WdevRefusal {
    param([string]$Words)
    if ($Words -match 'NotFound') {
        return New-WdevState -Name 'unknown' -Why 'the cluster does not know this node'
    }
    # A clock that is wrong makes good certificates bad: then nothing else is known.
    if ($Words -match 'not yet valid|has expired') {
        return New-WdevState -Name 'unclear' -Why ('at ' + (Get-WdevTime) + ', which the clock of this computer says, the API server cannot be trusted: ' + $Words)
    }
    if ($Words -match 'x509|unauthorized|forbidden|must be logged in') {
        return New-WdevState -Name 'half' -Why 'the cluster does not accept this node'
    }
    New-WdevState -Name 'unclear' -Why ('the API server cannot be asked: ' + $Words)
}

function Get-WdevTime {
    [DateTime]::UtcNow.ToString('yyyy-MM-dd HH:mm:ss', [cultureinfo]::InvariantCulture) + ' UTC'
}

# As `Get-WdevState`, until it is clear.
function Wait-WdevClearState {
    param([AllowEmptyString()][string]$Ca, [int]$Seconds)
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $state = Get-WdevState -Ca $Ca
        if ($state.Name -ne 'unclear' -or $clock.Elapsed.TotalSeconds -ge $Seconds) {
            return $state
        }
        Start-Sleep -Seconds 2
    }
}

# Fails where the clock says a time before the cluster's certificate was made.
function Assert-WdevClock {
    param([string]$Ca)
    $bytes = [Convert]::FromBase64String($Ca)
    try {
        $certificate = New-Object -TypeName System.Security.Cryptography.X509Certificates.X509Certificate2 -ArgumentList (, $bytes)
    } catch {
        throw 'the certificate of the cluster that this step was given is none'
    }
    $from = $certificate.NotBefore.ToUniversalTime()
    $until = $certificate.NotAfter.ToUniversalTime()
    $now = [DateTime]::UtcNow
    if ($now -lt $from -or $now -gt $until) {
        $valid = $from.ToString('yyyy-MM-dd HH:mm:ss', [cultureinfo]::InvariantCulture)
        throw ('the clock of this computer is wrong: it says ' + (Get-WdevTime) + ', and the certificate of the cluster was made at ' + $valid + ' UTC; set it right, for instance by: Start-Service W32Time; w32tm.exe /resync /force')
    }
}

# kubeadm on Windows reads and writes paths from the root of the current drive, calls tools of Windows and, to reset,
# crictl.
function Invoke-WdevKubeadm {
    param([string[]]$ArgumentList)
    $folders = @($env:PATH.Split([System.IO.Path]::PathSeparator))
    foreach ($folder in ($env:SystemRoot + '\System32'), 'C:\k') {
        if ($folders -notcontains $folder) {
            $env:PATH = $env:PATH + [System.IO.Path]::PathSeparator + $folder
        }
    }
    $WdevSaid.Clear()
    Push-Location -LiteralPath 'C:\'
    try {
        Invoke-WdevNative -FilePath 'C:\k\kubeadm.exe' -ArgumentList $ArgumentList | ForEach-Object -Process {
            $line = Hide-WdevSecret -Text $_
            $WdevSaid.Add($line)
            $line
        }
    } catch {
        throw (Hide-WdevSecret -Text $_.Exception.Message)
    } finally {
        Pop-Location
    }
}

function Remove-WdevSecretFile {
    foreach ($path in $WdevDiscovery, ($WdevDiscovery + '.new'), $WdevBootstrap) {
        Remove-WdevFile -Path $path
    }
}

function Write-WdevDiscovery {
    param([string]$Token, [string]$Ca)
    $lines = @(
        'apiVersion: v1'
        'kind: Config'
        'current-context: join'
        'clusters: [{name: cluster, cluster: {server: "' + $WdevData.server + '", certificate-authority-data: "' + $Ca + '"}}]'
        'users: [{name: joiner, user: {token: "' + $Token + '"}}]'
        'contexts: [{name: join, context: {cluster: cluster, user: joiner}}]'
    )
    Write-WdevFile -Path $WdevDiscovery -Text (($lines -join "`n") + "`n")
}

# Has kubeadm join this node. What it complains of is told in its own words, with what they mean where that is known.
function Join-WdevNode {
    param([string]$Token, [string]$Ca)
    Assert-WdevClock -Ca $Ca
    Write-WdevFile -Path $WdevConfig -Text $WdevData.config
    Write-WdevFile -Path $WdevBegun -Text ''
    Write-WdevDiscovery -Token $Token -Ca $Ca
    try {
        Invoke-WdevKubeadm -ArgumentList 'join', ('--config=' + $WdevConfig)
    } catch {
        Stop-WdevJoin -Words $_.Exception.Message
    }
    Remove-WdevSecretFile
    # Whatever ends this run now, what the node has joined with stays known.
    Write-WdevFile -Path $WdevJoined -Text ((Get-WdevSettings) + "`n")
    Remove-Item -LiteralPath $WdevBegun -Force
}

function Stop-WdevJoin {
    param([string]$Words)
    $said = ($WdevSaid -join "`n") + "`n" + $Words
    $untouched = -not (Test-Path -LiteralPath $WdevKubeletConf) -and -not (Test-Path -LiteralPath $WdevKubeletConfig)
    if ($said -match 'not yet valid|has expired' -and $said -match 'x509') {
        Stop-WdevStep -Reason ('the clock of this computer is wrong: it says ' + (Get-WdevTime) + '; kubeadm join failed: ' + $Words)
    }
    if ($untouched -and $said -match 'unauthorized|must be logged in') {
        # Nothing was made: the next attempt, with a new token, finds the node as it was.
        Remove-WdevSecretFile
        Remove-Item -LiteralPath $WdevBegun -Force
        throw ('the cluster does not accept the join token any more: it has expired, or somebody has removed it; the next attempt has a new one. kubeadm join failed: ' + $Words)
    }
    if ($said -match 'status "Ready" already exists in the cluster') {
        $of = ''
        try {
            $of = ', with the address ' + (Read-WdevNode -Node $WdevData.node -Kubeconfig $WdevDiscovery).Address
        } catch {
            Write-Verbose -Message 'then without its address'
        }
        throw ('another node of the cluster is called ' + $WdevData.node + $of + ', and is Ready; give one of them another name, or delete that node. kubeadm join failed: ' + $Words)
    }
    $complaints = @($WdevSaid | Where-Object -FilterScript { $_ -match 'error|fail|timed out|refused' } | Select-Object -Last 6)
    Stop-WdevStep -Reason ((@('kubeadm join failed: ' + $Words) + $complaints) -join "`n")
}

# Takes away whatever kubeadm has made on this node, so that it can begin anew. What others keep beside it, such as a
# network plugin's configuration, stays. kubeadm leaves what it cannot remove with a word of warning alone.
function Reset-WdevNode {
    # Nothing may bring the pods back.
    [void](Stop-WdevService -Name 'kubelet')
    # Its advice for people would only mislead: what it leaves goes below.
    Invoke-WdevKubeadm -ArgumentList 'reset', '--force', ('--cri-socket=' + $WdevData.socket) | Out-Null
    Remove-WdevPod
    $files = @(
        $WdevKubeletConf, $WdevBootstrap, $WdevCa, $WdevKubeletConfig, ($WdevKubeletFolder + '\kubeadm-flags.env')
        ($WdevKubeletFolder + '\instance-config.yaml'), ($WdevKubeletFolder + '\pki')
    )
    foreach ($path in $files) {
        Remove-WdevFile -Path $path
    }
    if ($WdevData.linksPki) {
        Add-WdevPkiLink
    }
}

# The pods that the reset has left, where the runtime did not answer it.
function Remove-WdevPod {
    $crictl = 'C:\k\crictl.exe'
    $endpoint = '--runtime-endpoint=' + $WdevData.socket
    $pods = @(Invoke-WdevNative -FilePath $crictl -ArgumentList $endpoint, 'pods', '--quiet')
    foreach ($pod in @($pods | Where-Object -FilterScript { $_ -cmatch '\A[0-9a-f]{16,}\z' })) {
        foreach ($command in 'stopp', 'rmp') {
            try {
                Invoke-WdevNative -FilePath $crictl -ArgumentList $endpoint, $command, $pod | Out-Null
            } catch {
                Write-WdevLog -Text ('a pod is left: ' + $_.Exception.Message) -Level 'warning'
            }
        }
    }
}

# Has the kubelet run with what kubeadm wrote for it. It is stopped before its line changes: so a run after this one
# finds it stopped, whatever ends this one.
function Update-WdevKubelet {
    if (-not (Test-WdevKubeletService -Kubelet $WdevData.kubelet)) {
        Write-WdevLog -Text 'the kubelet gets the arguments that kubeadm wrote'
        [void](Stop-WdevService -Name 'kubelet')
    }
    [void](Set-WdevKubeletService -Kubelet $WdevData.kubelet)
    if ((Get-WdevService -Name 'kubelet').State -ne 'Running') {
        try {
            Start-Service -Name 'kubelet'
        } catch {
            Stop-WdevStep -Reason ('the kubelet does not start: ' + $_.Exception.Message)
        }
    }
}

# Waits until the cluster knows this node, under the right address.
function Wait-WdevKnown {
    param([string]$Ca)
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    $told = ''
    while ($true) {
        $state = Get-WdevState -Ca $Ca
        if ($state.Name -eq 'joined') {
            return
        }
        if ($clock.Elapsed.TotalSeconds -ge $WdevData.patience) {
            Stop-WdevStep -Reason ('the node did not become part of the cluster: ' + $state.Why)
        }
        if ($state.Why -cne $told) {
            Write-WdevLog -Text ('waiting: ' + $state.Why)
            $told = $state.Why
        }
        Start-Sleep -Seconds 2
    }
}

function Invoke-WdevRun {
    $token = Get-WdevSecret -Name 'join_token'
    $ca = Get-WdevSecret -Name 'cluster_ca'
    Protect-WdevFolder -Path $WdevCluster
    try {
        Remove-WdevSecretFile
        $state = Wait-WdevClearState -Ca $ca -Seconds $WdevData.patience
        if ($state.Name -eq 'untouched') {
            Join-WdevNode -Token $token -Ca $ca
        } elseif ($state.Name -eq 'half') {
            Write-WdevLog -Text ($state.Why + ': it is reset and joins anew') -Level 'warning'
            Write-WdevFile -Path $WdevBegun -Text ''
            Remove-WdevFile -Path $WdevJoined
            Reset-WdevNode
            Join-WdevNode -Token $token -Ca $ca
        } elseif ($state.Name -eq 'unknown') {
            Write-WdevLog -Text ($state.Why + ': the kubelet is started anew, which tells it') -Level 'warning'
            [void](Stop-WdevService -Name 'kubelet')
        } elseif ($state.Name -eq 'unclear') {
            Stop-WdevStep -Reason $state.Why
        }
        Update-WdevKubelet
        Wait-WdevKnown -Ca $ca
    } finally {
        Remove-WdevSecretFile
    }
    $settings = Get-WdevSettings
    if (-not (Test-WdevFilled -Path $WdevJoined) -or (Get-Content -LiteralPath $WdevJoined) -cne $settings) {
        Write-WdevFile -Path $WdevJoined -Text ($settings + "`n")
    }
    Write-WdevLog -Text ('the cluster knows this node as ' + $WdevData.node + ' with the address ' + $WdevData.address)
}

function Invoke-WdevProbe {
    $state = Wait-WdevClearState -Ca '' -Seconds $WdevData.glance
    Add-WdevFact -Key 'state' -Value $state.Name
    if ($state.Name -ne 'joined') {
        Stop-WdevProbe -Reason $state.Why
    }
    if (-not (Test-WdevKubeletService -Kubelet $WdevData.kubelet)) {
        Stop-WdevProbe -Reason 'the kubelet does not have the arguments that kubeadm wrote'
    }
    $service = Get-WdevService -Name 'kubelet'
    if ($service.State -ne 'Running') {
        Stop-WdevProbe -Reason 'the kubelet does not run'
    }
    if ($service.StartMode -ne 'Auto') {
        Stop-WdevProbe -Reason 'the kubelet does not start by itself'
    }
}
