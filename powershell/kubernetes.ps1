<#
.SYNOPSIS
Installs the programs of Kubernetes and makes the kubelet a service of Windows.

.DESCRIPTION
Reads from $WdevData:
  cache     the folder with the programs: C:\ProgramData\wdev\cache
  names     their names: kubelet, kubeadm, ...
  version   what `kubelet.exe --version` must say
  linksPki  whether kubeadm of this version looks for certificates below the kubelet's folder
  kubelet   the line of the kubelet's service: before, arguments (name, value), after

Each program of `names` lies there beforehand, under exactly its name, without an ending: `kubelet`, `kube-proxy`, ...
Is given the SHA-256 of each as `sha256_NAME`, with underscores for hyphens; by hand they come from the environment
variables WDEV_GIVEN_sha256_NAME: WDEV_GIVEN_sha256_kubelet, WDEV_GIVEN_sha256_kube_proxy, ...

Changes on the node: the programs in C:\k, which becomes a part of the PATH of all users; the folders that kubeadm
and the kubelet expect; the service kubelet, which needs containerd, and starts again when it fails; the firewall,
for TCP port 10250. Programs are replaced while their services are stopped. On a node that has not joined yet the
kubelet stays stopped: kubeadm writes its configuration, then starts it. On one that has joined the line of the
service keeps what kubeadm has written into C:\var\lib\kubelet\kubeadm-flags.env.

Reports: the fact `kubelet`, its version.

Run it by hand as an administrator: powershell -ExecutionPolicy Bypass -File .\kubernetes.ps1

To look at it by hand:
  C:\k\kubelet.exe --version
  (Get-CimInstance Win32_Service -Filter "Name = 'kubelet'").PathName
  Get-Content C:\var\log\kubelet\kubelet.log -Tail 20

.NOTES
The service: kubernetes-sigs/image-builder images/capi/ansible/windows/roles/kubernetes
Folders: kubernetes-sigs/sig-windows-tools hostprocess/PrepareNode.ps1
The kubelet's flags: https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/
#>

$WdevBin = 'C:\k'
$WdevKubeletLog = 'C:\var\log\kubelet\kubelet.log'
$WdevEnvironment = 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
$WdevRule = 'wdev-kubelet'

function Get-WdevProgramPath {
    param([string]$Name)
    $WdevBin + '\' + $Name + '.exe'
}

# The programs that are not there as they are wanted.
function Get-WdevWrongProgram {
    $WdevData.names | Where-Object -FilterScript {
        (Get-WdevHash -Path (Get-WdevProgramPath -Name $_)) -cne (Get-WdevWantedHash -Name $_)
    }
}

function Install-WdevKubernetes {
    $wrong = @(Get-WdevWrongProgram)
    if ($wrong.Count -eq 0) {
        return
    }
    # All files are looked at before anything is stopped.
    $files = @{}
    foreach ($name in $wrong) {
        $files[$name] = Get-WdevArtifact -Name $name
    }
    foreach ($service in 'kubelet', 'kube-proxy') {
        if ($wrong -contains $service -or $wrong -contains 'kube-log-runner') {
            [void](Stop-WdevService -Name $service)
        }
    }
    foreach ($name in $wrong) {
        Write-WdevLog -Text ('installing ' + $name)
        Install-WdevProgram -From $files[$name] -To (Get-WdevProgramPath -Name $name)
    }
}

function Get-WdevKubeletVersion {
    $program = Get-WdevProgramPath -Name 'kubelet'
    $said = (@(Invoke-WdevNative -FilePath $program -ArgumentList '--version') -join ' ').Trim()
    if ($said -cne ('Kubernetes ' + $WdevData.version)) {
        throw ('this kubelet is not the one of Kubernetes ' + $WdevData.version + ': it says "' + $said + '"')
    }
    $WdevData.version
}

# The PATH of all users as it is written, with its variables.
function Get-WdevMachinePath {
    $key = Get-Item -LiteralPath $WdevEnvironment
    [string]$key.GetValue('Path', '', 'DoNotExpandEnvironmentNames')
}

function Test-WdevMachinePath {
    @((Get-WdevMachinePath).Split(';') | ForEach-Object -Process { $_.TrimEnd('\') }) -contains $WdevBin
}

function Add-WdevMachinePath {
    if (-not (Test-WdevMachinePath)) {
        # What kind of value it is stays as it is.
        $path = (Get-WdevMachinePath).TrimEnd(';') + ';' + $WdevBin
        Set-ItemProperty -LiteralPath $WdevEnvironment -Name 'Path' -Value $path
    }
}

# Whether the node is one of a cluster: then kubeadm has written what the kubelet needs.
function Test-WdevJoined {
    Test-Path -LiteralPath 'C:\etc\kubernetes\kubelet.conf'
}

function Test-WdevKubeletHealth {
    try {
        $arguments = '--fail', '--silent', '--max-time', '5', 'http://127.0.0.1:10248/healthz'
        [void](Invoke-WdevNative -FilePath 'curl.exe' -ArgumentList $arguments)
        $true
    } catch {
        $false
    }
}

function Invoke-WdevRun {
    Assert-WdevDrive
    if ($null -eq (Get-WdevService -Name 'containerd')) {
        throw 'there is no service containerd, which the kubelet needs: the container runtime is not installed'
    }
    $folders = @(
        $WdevBin, 'C:\var\log\kubelet', 'C:\var\lib\kubelet', 'C:\etc\kubernetes\pki', 'C:\etc\kubernetes\manifests',
        'C:\opt\cni\bin', 'C:\etc\cni\net.d', 'C:\tmp'
    )
    Add-WdevFolder -Path $folders
    if ($WdevData.linksPki) {
        Add-WdevPkiLink
    }
    Install-WdevKubernetes
    foreach ($name in $WdevData.names) {
        Remove-WdevOldProgram -To (Get-WdevProgramPath -Name $name)
    }
    $version = Get-WdevKubeletVersion
    Add-WdevMachinePath
    Set-WdevFirewallRule -Name $WdevRule -DisplayName 'kubelet' -Traffic @{ Protocol = 'TCP'; LocalPort = '10250' }
    # Ended before its line changes, the service is found stopped by a run after this one, whatever ends this one.
    if ((Test-WdevJoined) -and -not (Test-WdevKubeletService -Kubelet $WdevData.kubelet)) {
        [void](Stop-WdevService -Name 'kubelet')
    }
    [void](Set-WdevKubeletService -Kubelet $WdevData.kubelet)
    if (Test-WdevJoined) {
        if ((Get-WdevService -Name 'kubelet').State -ne 'Running') {
            Start-WdevService -Name 'kubelet' -Log $WdevKubeletLog -Ready { Test-WdevKubeletHealth }
        }
        $proxy = Get-Service -Name 'kube-proxy' -ErrorAction SilentlyContinue
        if ($null -ne $proxy -and $proxy.Status -eq 'Stopped') {
            Start-Service -Name 'kube-proxy'
        }
    }
    Add-WdevFact -Key 'kubelet' -Value $version
}

function Invoke-WdevProbe {
    $wrong = @(Get-WdevWrongProgram)
    if ($wrong.Count -gt 0) {
        Stop-WdevProbe -Reason ('not there as it is wanted: ' + ($wrong -join ', '))
    }
    if (-not (Test-WdevMachinePath)) {
        Stop-WdevProbe -Reason ($WdevBin + ' is no part of PATH')
    }
    if (-not (Test-WdevFirewallRule -Name $WdevRule)) {
        Stop-WdevProbe -Reason 'the firewall does not let the cluster reach the kubelet'
    }
    if (-not (Test-WdevKubeletService -Kubelet $WdevData.kubelet)) {
        Stop-WdevProbe -Reason 'the service kubelet is not there or has another line'
    }
    $service = Get-WdevService -Name 'kubelet'
    if ($service.StartMode -ne 'Auto') {
        Stop-WdevProbe -Reason 'the service kubelet does not start by itself'
    }
    if ((Test-WdevJoined) -and $service.State -ne 'Running') {
        Stop-WdevProbe -Reason 'the node has joined, but its kubelet does not run'
    }
}
