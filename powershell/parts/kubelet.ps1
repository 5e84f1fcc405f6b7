# The line that the kubelet's service is started by. Needs program.ps1, parts/services.ps1
# and parts/programs.ps1.
#
# What `kubelet` is in the data of a script: before (the words that come before the arguments: what keeps the log,
# and the kubelet itself), arguments (a list of name and value), after (the words behind them).

$WdevKubeletFlags = 'C:\var\lib\kubelet\kubeadm-flags.env'

# The text that Go's `%q` has written, without its quotes.
function ConvertFrom-WdevGoText {
    param([AllowEmptyString()][string]$Text)
    $letters = @{
        'a' = [char]7; 'b' = [char]8; 'f' = [char]12; 'n' = [char]10; 'r' = [char]13; 't' = [char]9; 'v' = [char]11
        '\' = '\'; '"' = '"'; "'" = "'"
    }
    $bytes = New-Object -TypeName 'System.Collections.Generic.List[byte]'
    $utf8 = [System.Text.Encoding]::UTF8
    $pattern = '\G(?:\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})|\\(.)|([^\\]+))'
    $at = 0
    while ($at -lt $Text.Length) {
        $match = ([regex]$pattern).Match($Text, $at)
        if (-not $match.Success) {
            throw ('this is no text of Go: ' + $Text)
        }
        $groups = $match.Groups
        if ($groups[1].Success) {
            # A byte of what was no UTF-8.
            $bytes.Add([Convert]::ToByte($groups[1].Value, 16))
        } elseif ($groups[2].Success -or $groups[3].Success) {
            $code = [Convert]::ToInt32(($groups[2].Value + $groups[3].Value), 16)
            $bytes.AddRange($utf8.GetBytes([char]::ConvertFromUtf32($code)))
        } elseif ($groups[4].Success) {
            if (-not $letters.ContainsKey($groups[4].Value)) {
                throw ('this is no text of Go: ' + $Text)
            }
            $bytes.AddRange($utf8.GetBytes([string]$letters[$groups[4].Value]))
        } else {
            $bytes.AddRange($utf8.GetBytes($groups[5].Value))
        }
        $at += $match.Length
    }
    $utf8.GetString($bytes.ToArray())
}

# The arguments that kubeadm has written for the kubelet; none before the join, and none where it wrote an empty
# text, which is right. kubeadm joins them with a space and quotes the whole: each of them begins with `--`, which
# tells them apart from words of a value.
function Read-WdevKubeadmFlag {
    if (-not (Test-Path -LiteralPath $WdevKubeletFlags)) {
        return
    }
    $text = [System.IO.File]::ReadAllText((Resolve-WdevPath -Path $WdevKubeletFlags))
    $line = [regex]::Match($text, '(?m)^\s*KUBELET_KUBEADM_ARGS=(.*?)\s*$')
    if (-not $line.Success) {
        throw ($WdevKubeletFlags + ' holds no KUBELET_KUBEADM_ARGS, but: ' + $text.Trim())
    }
    $value = $line.Groups[1].Value
    if ($value.Length -ge 2 -and $value.StartsWith('"') -and $value.EndsWith('"')) {
        $value = ConvertFrom-WdevGoText -Text $value.Substring(1, $value.Length - 2)
    }
    [regex]::Split($value, '\s+(?=--)') | ForEach-Object -Process { $_.Trim() } | Where-Object -FilterScript { $_ -ne '' }
}

# All words of the service: those of the data, then what kubeadm has written and the data does not say.
function Get-WdevKubeletWord {
    param([object]$Kubelet, [string[]]$FromKubeadm = @())
    $known = @($Kubelet.arguments | ForEach-Object -Process { $_.name })
    $Kubelet.before
    foreach ($argument in $Kubelet.arguments) {
        '--' + $argument.name + '=' + $argument.value
    }
    foreach ($flag in $FromKubeadm) {
        $name = ($flag -replace '\A--?', '').Split('=')[0]
        if ($known -cnotcontains $name) {
            $flag
        }
    }
    $Kubelet.after
}

# The line of these words, which the kubelet reads back as the same words.
function Get-WdevKubeletLine {
    param([string[]]$Words)
    @($Words | ForEach-Object -Process { ConvertTo-WdevArgument -Text $_ }) -join ' '
}

# Makes the kubelet's service or changes its line, with what kubeadm has written by now. Returns whether the line
# has changed: a kubelet that runs must then be started anew.
function Set-WdevKubeletService {
    param([object]$Kubelet)
    $words = @(Get-WdevKubeletWord -Kubelet $Kubelet -FromKubeadm @(Read-WdevKubeadmFlag))
    $service = @{
        Name = 'kubelet'
        DisplayName = 'kubelet'
        Line = Get-WdevKubeletLine -Words $words
        DependsOn = 'containerd'
    }
    Set-WdevService @service
    Set-WdevServiceRestart -Name 'kubelet'
}

# Whether the kubelet's service has the line that it is to have.
function Test-WdevKubeletService {
    param([object]$Kubelet)
    $service = Get-WdevService -Name 'kubelet'
    $words = @(Get-WdevKubeletWord -Kubelet $Kubelet -FromKubeadm @(Read-WdevKubeadmFlag))
    $null -ne $service -and $service.PathName -ceq (Get-WdevKubeletLine -Words $words)
}

# kubeadm of before 1.23 looks for certificates below the kubelet's folder.
function Add-WdevPkiLink {
    $link = 'C:\var\lib\kubelet\etc\kubernetes\pki'
    if (-not (Test-Path -LiteralPath $link)) {
        Add-WdevFolder -Path (Split-Path -Path $link -Parent)
        $target = Resolve-WdevPath -Path 'C:\etc\kubernetes\pki'
        [void](New-Item -ItemType 'SymbolicLink' -Path $link -Value $target)
    }
}
