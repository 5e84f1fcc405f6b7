# Programs that are brought to a node, by their paths. The text of the file is the version of a doubled program.

# The path of the program that a line starts.
function Get-LineProgram {
    param([string]$Line)
    [regex]::Match($Line, '^(?:"([^"]+)"|(\S+))').Groups[1, 2].Value -join ''
}

# What is run by a line right now.
function Get-RunningProgram {
    param([string]$Line)
    $found = @{ line = $Line }
    $program = Get-LineProgram -Line $Line
    $folder = $program.Substring(0, $program.LastIndexOf('\'))
    foreach ($file in $program, ($folder + '\kubelet.exe'), ($folder + '\config.toml')) {
        $path = Resolve-RealPath -Path $file
        # On a machine that hands on they are whole programs.
        if ([System.IO.File]::Exists($path) -and (New-Object -TypeName 'System.IO.FileInfo' -ArgumentList $path).Length -lt 10000) {
            $found[$file] = [System.IO.File]::ReadAllText($path)
        }
    }
    $found
}

function Read-Program {
    param([string]$Path)
    $real = Resolve-RealPath -Path $Path
    if (-not [System.IO.File]::Exists($real)) {
        throw "The term '$Path' is not recognized as a name of a cmdlet, function, script file, or executable program."
    }
    [System.IO.File]::ReadAllText($real).Trim()
}

function Invoke-Containerd {
    $program = 'C:\Program Files\containerd\containerd.exe'
    [void](Read-Program -Path $program)
    $words = @($args | ForEach-Object { [string]$_ })
    $global:LASTEXITCODE = 0
    if ($words -notcontains '--register-service') {
        throw "no double for containerd.exe $words"
    }
    $world = Read-World
    if ($world.services.ContainsKey('containerd')) {
        'containerd: The specified service already exists.'
        $global:LASTEXITCODE = 1
        return
    }
    $rest = @($words | Where-Object { $_ -ne '--register-service' }) -join ' '
    $world.services['containerd'] = @{
        Name = 'containerd'; DisplayName = 'Containerd'; Status = 'Stopped'; StartType = 'Automatic'; DependsOn = @()
        PathName = '"' + $program + '" --run-service ' + $rest
    }
    # A service that is to fail at its first start.
    if ($world.ContainsKey('containerd_stops')) {
        $world.services['containerd'].Stops = $world.containerd_stops
    }
    Save-World -World $world -Said 'containerd.exe --register-service'
}

# `ctr version`: the version that runs is that of the program which was started, and not the one on the disk.
function Invoke-Ctr {
    $world = Read-World
    $version = Read-Program -Path 'C:\Program Files\containerd\ctr.exe'
    'Client:'
    "  Version:  $version"
    $service = $world.services['containerd']
    if ($service.Status -ne 'Running') {
        'ctr: failed to dial "//./pipe/containerd-containerd"'
        $global:LASTEXITCODE = 1
        return
    }
    $global:LASTEXITCODE = 0
    ''
    'Server:'
    "  Version:  $($service.Runs['C:\Program Files\containerd\containerd.exe'].Trim())"
}

function Invoke-Kubelet {
    $global:LASTEXITCODE = 0
    'Kubernetes ' + (Read-Program -Path 'C:\k\kubelet.exe')
}

Set-Alias -Name 'C:\Program Files\containerd\containerd.exe' -Value 'Invoke-Containerd'
Set-Alias -Name 'C:\Program Files\containerd\ctr.exe' -Value 'Invoke-Ctr'
Set-Alias -Name 'C:\k\kubelet.exe' -Value 'Invoke-Kubelet'
