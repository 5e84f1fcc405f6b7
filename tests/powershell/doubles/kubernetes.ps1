# The cluster of a doubled node, and the programs that speak with it: kubeadm, kubectl, crictl.
#
# `cluster` of the world: `answers`; `ca` (its certificate in base64); `id` (which cluster it is); `tokens` (each
# `valid` or `expired`); `nodes`, by name: `address`, `kubelet`, `runtime`, `other` (it is another machine, and Ready);
# `network` (whether a network plugin runs on the node); `conditions` (more lines for its node object); `pods` (lines of
# what they wait for); `sandboxes` (pods that the runtime holds); `flags` (what kubeadm writes for the kubelet).
# What kubeadm was told is left in `told`.

$k8s = 'C:\etc\kubernetes'
$kubeletFolder = 'C:\var\lib\kubelet'

function Write-ClusterFile {
    param($World, [string]$Path, [string]$Text)
    $real = Resolve-RealPath -Path $Path
    Start-Change
    [void][System.IO.Directory]::CreateDirectory([System.IO.Path]::GetDirectoryName($real))
    [System.IO.File]::WriteAllText($real, $Text)
    Save-World -World $World -Said "kubeadm.exe writes $Path" -Begun
}

function Read-ClusterFile {
    param([string]$Path)
    $real = Resolve-RealPath -Path $Path
    if ([System.IO.File]::Exists($real)) {
        [System.IO.File]::ReadAllText($real)
    }
}

# A value of the configuration, which is written as JSON writes it.
function Get-Configured {
    param([string]$Text, [string]$Name)
    $found = [regex]::Match($Text, '(?m)^\s*' + $Name + ': ("(?:[^"\\]|\\.)*")\s*$')
    if ($found.Success) {
        ConvertFrom-Json -InputObject $found.Groups[1].Value
    }
}

# A kubelet that starts registers its node, once it has what it needs.
function Start-DoubledKubelet {
    param($World)
    if (-not $World.ContainsKey('cluster')) {
        return
    }
    $cluster = $World.cluster
    $credentials = Read-ClusterFile -Path "$k8s\kubelet.conf"
    if (-not $credentials -and (Read-ClusterFile -Path "$k8s\bootstrap-kubelet.conf")) {
        $credentials = "id: $($cluster.id)"
        [System.IO.File]::WriteAllText((Resolve-RealPath -Path "$k8s\kubelet.conf"), $credentials)
    }
    if (-not $credentials -or -not $cluster.answers -or $credentials -ne "id: $($cluster.id)") {
        return
    }
    $line = [string]$World.services['kubelet']['PathName']
    $name = [regex]::Match($line, '--hostname-override=(\S+)').Groups[1].Value
    $address = [regex]::Match($line, '--node-ip=(\S+)').Groups[1].Value
    if (-not $cluster.nodes.ContainsKey($name)) {
        $cluster.nodes[$name] = @{
            address = if ($address) { $address } else { '10.0.2.15' }
            kubelet = 'v1.36.2'; runtime = 'containerd://2.3.4'
        }
    }
}

function Stop-Kubeadm {
    param([string[]]$Words)
    $Words
    $global:LASTEXITCODE = 1
}

function Invoke-Kubeadm {
    $words = @($args | ForEach-Object { [string]$_ })
    $global:LASTEXITCODE = 0
    $world = Read-World
    if ($world.fail.ContainsKey("kubeadm $($words[0])")) {
        return Stop-Kubeadm -Words $world.fail["kubeadm $($words[0])"]
    }
    if ($words[0] -eq 'join') {
        Invoke-KubeadmJoin -World $world -Words $words
    } elseif ($words[0] -eq 'reset') {
        Invoke-KubeadmReset -World $world -Words $words
    } else {
        Stop-Kubeadm -Words ('unknown command "' + $words[0] + '" for "kubeadm"')
    }
}

function Get-PreflightError {
    param($World)
    if ($env:PATH -notlike '*\System32*') {
        '[ERROR FileExisting-xcopy]: xcopy not found in system path'
    }
    if ($World.services['containerd']['Status'] -ne 'Running') {
        '[ERROR CRI]: container runtime is not running'
    }
    if (-not $World.services.ContainsKey('kubelet')) {
        '[WARNING Service-Kubelet]: kubelet service does not exist'
    } elseif ($World.services.kubelet.Status -eq 'Running') {
        '[ERROR Port-10250]: Port 10250 is in use'
    }
    foreach ($file in 'kubelet.conf', 'bootstrap-kubelet.conf', 'pki\ca.crt') {
        if (Read-ClusterFile -Path "$k8s\$file") {
            "[ERROR FileAvailable--etc-kubernetes-$($file.Replace('\', '-'))]: /etc/kubernetes/$($file.Replace('\', '/')) already exists"
        }
    }
}

function Invoke-KubeadmJoin {
    param($World, [string[]]$Words)
    if ($Words.Count -ne 2 -or $Words[1] -notlike '--config=C:\*') {
        return Stop-Kubeadm -Words 'can not mix ''--config'' with arguments [token]'
    }
    $config = Read-ClusterFile -Path $Words[1].Substring(9)
    $cluster = $World.cluster
    $cluster.told = $config
    Write-World -World $World
    $path = Get-Configured -Text $config -Name 'kubeConfigPath'
    # A drive letter is the scheme of a URL to it; else it is a path from the root of the drive where it runs.
    if ($path -match '^[A-Za-z]:') {
        return Stop-Kubeadm -Words ('discovery.file.kubeConfigPath: Invalid value: "' + $path + '": if a URL is used, the scheme must be https')
    }
    $discovery = if ((Get-Location).Drive.Name -eq 'C') { Read-ClusterFile -Path ('C:' + $path.Replace('/', '\')) }
    if (-not $discovery) {
        return Stop-Kubeadm -Words ('discovery.file.kubeConfigPath: Invalid value: "' + $path + '": not a valid HTTPS URL or a file on disk')
    }
    if ((Get-Configured -Text $config -Name 'caCertPath') -notmatch '^[A-Za-z]:/.*\.crt$') {
        return Stop-Kubeadm -Words 'caCertPath: Invalid value: the ca certificate path must be an absolute path'
    }
    '[preflight] Running pre-flight checks'
    $wrong = @(Get-PreflightError -World $World)
    if (@($wrong -like '`[ERROR*').Count -gt 0) {
        return Stop-Kubeadm -Words (@('error execution phase preflight: [preflight] Some fatal errors occurred:') + $wrong)
    }
    $token = [regex]::Match($discovery, 'token: "([^"]+)"').Groups[1].Value
    $ca = [regex]::Match($discovery, 'certificate-authority-data: "([^"]+)"').Groups[1].Value
    if (-not $cluster.answers) {
        return Stop-Kubeadm -Words 'couldn''t validate the identity of the API Server: dial tcp 192.168.56.10:6443: connectex: A connection attempt failed'
    }
    if ($ca -ne $cluster.ca) {
        return Stop-Kubeadm -Words 'couldn''t validate the identity of the API Server: x509: certificate signed by unknown authority'
    }
    # Some words of it would give the token away.
    "I0301 08:00:01 file.go:66] using the token $token"
    if ($cluster.tokens[$token] -ne 'valid') {
        return Stop-Kubeadm -Words 'error execution phase preflight: Abort reading the cluster-info ConfigMap after timeout of 6m0s: Unauthorized'
    }
    $name = Get-Configured -Text $config -Name 'name'
    $there = $cluster.nodes[$name]
    Write-ClusterFile -World $World -Path "$k8s\bootstrap-kubelet.conf" -Text "token: $token"
    Write-ClusterFile -World $World -Path "$k8s\pki\ca.crt" -Text ([System.Text.Encoding]::UTF8.GetString([Convert]::FromBase64String($ca)))
    if ($there -and $there['other']) {
        [System.IO.File]::Delete((Resolve-RealPath -Path "$k8s\bootstrap-kubelet.conf"))
        return Stop-Kubeadm -Words ('error execution phase kubelet-start: a Node with name "' + $name + '" and status "Ready" already exists in the cluster. You must delete the existing Node or change the name of this new joining Node')
    }
    Write-ClusterFile -World $World -Path "$kubeletFolder\config.yaml" -Text 'kind: KubeletConfiguration'
    Write-ClusterFile -World $World -Path "$kubeletFolder\kubeadm-flags.env" -Text ('KUBELET_KUBEADM_ARGS="' + $cluster.flags + '"' + "`n")
    '[kubelet-start] Starting the kubelet'
    Start-Change
    Set-DoubledService -World $World -Name 'kubelet' -Status 'Running'
    Save-World -World $World -Said 'kubeadm.exe starts kubelet' -Begun
    if (-not (Read-ClusterFile -Path "$k8s\kubelet.conf") -or $World.services.kubelet.Status -ne 'Running') {
        [System.IO.File]::Delete((Resolve-RealPath -Path "$k8s\bootstrap-kubelet.conf"))
        return Stop-Kubeadm -Words '[kubelet-check] The HTTP call equal to ''curl -sSL http://localhost:10248/healthz'' failed with error: connection refused.', 'error execution phase kubelet-start: timed out waiting for the condition'
    }
    Start-Change
    [System.IO.File]::Delete((Resolve-RealPath -Path "$k8s\bootstrap-kubelet.conf"))
    Save-World -World $World -Said 'kubeadm.exe removes bootstrap-kubelet.conf' -Begun
    'This node has joined the cluster:'
}

function Invoke-KubeadmReset {
    param($World, [string[]]$Words)
    if ($Words -notcontains '--force') {
        return Stop-Kubeadm -Words '[reset] Are you sure you want to proceed? [y/N]:', 'aborted reset operation'
    }
    if ($Words -notcontains '--cri-socket=npipe:////./pipe/containerd-containerd') {
        return Stop-Kubeadm -Words 'found multiple CRI endpoints on the host'
    }
    '[reset] Stopping the kubelet service'
    if ($World.services.kubelet.Status -ne 'Stopped') {
        Set-DoubledService -World $World -Name 'kubelet' -Status 'Stopped'
        Save-World -World $World -Said 'kubeadm.exe stops kubelet'
    }
    if ((Get-Location).Drive.Name -ne 'C') {
        return
    }
    foreach ($path in "$k8s\manifests", "$k8s\pki", $kubeletFolder, "$k8s\kubelet.conf", "$k8s\bootstrap-kubelet.conf") {
        $real = Resolve-RealPath -Path $path
        $files = @(if ([System.IO.Directory]::Exists($real)) { [System.IO.Directory]::GetFileSystemEntries($real) } elseif ([System.IO.File]::Exists($real)) { $real })
        if ($files.Count -eq 0) {
            continue
        }
        Start-Change
        foreach ($file in $files) {
            Microsoft.PowerShell.Management\Remove-Item -LiteralPath $file -Recurse -Force
        }
        Save-World -World $World -Said "kubeadm.exe clears $path" -Begun
    }
    'The reset process does not clean CNI configuration.'
}

function Invoke-Crictl {
    $world = Read-World
    $words = @($args | ForEach-Object { [string]$_ })
    $global:LASTEXITCODE = 0
    if ($words[0] -ne '--runtime-endpoint=npipe:////./pipe/containerd-containerd' -or $world.services.containerd.Status -ne 'Running') {
        'validate service connection: CRI v1 runtime API is not implemented for endpoint'
        $global:LASTEXITCODE = 1
        return
    }
    $there = @($world.cluster['sandboxes'] | Where-Object { $_ })
    if ($words[1] -eq 'pods') {
        return $there
    }
    if ($there -notcontains $words[2]) {
        'rpc error: code = NotFound desc = could not find sandbox'
        $global:LASTEXITCODE = 1
        return
    }
    if ($words[1] -eq 'rmp') {
        $world.cluster.sandboxes = @($there | Where-Object { $_ -ne $words[2] })
        Save-World -World $world -Said "crictl.exe rmp $($words[2])"
    }
}

function Stop-Kubectl {
    param([string]$Words)
    $Words
    $global:LASTEXITCODE = 1
}

function Invoke-Kubectl {
    $world = Read-World
    $cluster = $world.cluster
    $words = @($args | ForEach-Object { [string]$_ })
    $global:LASTEXITCODE = 0
    $path = $words[0] -replace '^--kubeconfig=', ''
    $credentials = Read-ClusterFile -Path $path
    if (-not $credentials) {
        return Stop-Kubectl -Words "error: stat ${path}: The system cannot find the file specified."
    }
    if ($world.fail.ContainsKey('kubectl')) {
        return Stop-Kubectl -Words $world.fail['kubectl']
    }
    if (-not $cluster.answers) {
        return Stop-Kubectl -Words 'Unable to connect to the server: dial tcp 192.168.56.10:6443: connectex: No connection could be made because the target machine actively refused it.'
    }
    $token = [regex]::Match($credentials, 'token: "([^"]+)"').Groups[1].Value
    if ($credentials -ne "id: $($cluster.id)" -and $cluster.tokens[$token] -ne 'valid') {
        return Stop-Kubectl -Words 'error: You must be logged in to the server (Unauthorized)'
    }
    # What a library of it complains of, on its other stream.
    'W0301 08:00:01.000000    1234 something.go:1] harmless'
    if ($words[3] -eq 'pods') {
        return $cluster['pods']
    }
    $node = $cluster.nodes[$words[4]]
    if (-not $node) {
        return Stop-Kubectl -Words ('Error from server (NotFound): nodes "' + $words[4] + '" not found')
    }
    if ($words[6] -like '*nodeInfo*') {
        return 'wdev|' + $node.address + '|' + $node.kubelet + '|' + $node.runtime
    }
    $running = $world.services.kubelet.Status -eq 'Running' -and $world.services.containerd.Status -eq 'Running'
    $cluster['conditions']
    if (-not $running) {
        'wdev|Ready|Unknown|NodeStatusUnknown|Kubelet stopped posting node status.'
    } elseif ($cluster.network) {
        'wdev|Ready|True|KubeletReady|kubelet is posting ready status'
    } else {
        'wdev|Ready|False|KubeletNotReady|container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized'
    }
}

foreach ($program in 'Kubeadm', 'Kubectl', 'Crictl') {
    Set-Alias -Name ('C:\k\' + $program.ToLowerInvariant() + '.exe') -Value ('Invoke-' + $program)
}
