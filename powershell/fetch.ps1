<#
.SYNOPSIS
Fetches files that wdev installs on this node, each checked by its SHA-256.

.DESCRIPTION
Reads from $WdevData:
  cache   the folder that they go to
  names   their names there

Is given, for each NAME (with underscores for hyphens), the secrets `sha256_NAME` and `url_NAME`. An address may hold a
password: curl.exe reads it from a file that only administrators can read, and that is gone afterwards.

wdev runs this before container-runtime.ps1 and kubernetes.ps1 and writes no file of it to run by hand. By hand you put
the files into that folder yourself, under these names.

Changes on the node: the files in that folder.
Reports: `there`, the names of those that are there, with spaces between them.

To look at it by hand:
  Get-ChildItem C:\ProgramData\wdev\cache | Get-FileHash

.NOTES
curl.exe comes with Windows since Windows Server 2019:
https://learn.microsoft.com/virtualization/community/team-blog/2017/20171219-tar-and-curl-come-to-windows
Its options: https://curl.se/docs/manpage.html
#>


function Receive-WdevArtifact {
    param([string]$Name)
    $path = $WdevData.cache + '\' + $Name
    $wanted = Get-WdevWantedHash -Name $Name
    if ((Get-WdevHash -Path $path) -eq $wanted) {
        return
    }
    $url = Get-WdevSecret -Name ('url_' + $Name.Replace('-', '_'))
    $part = $path + '.part'
    $settings = $WdevWork + '\' + $WdevName + '.curl'
    Write-WdevFile -Path $settings -Text ('url = "' + $url.Replace('\', '\\').Replace('"', '\"') + '"' + "`n")
    try {
        $arguments = @(
            '--fail', '--silent', '--show-error', '--location', '--connect-timeout', '30', '--retry', '3',
            '--speed-limit', '1024', '--speed-time', '60', '--max-time', '900',
            '--output', (Resolve-WdevPath -Path $part), '--config', (Resolve-WdevPath -Path $settings)
        )
        try {
            Invoke-WdevNative -FilePath 'curl.exe' -ArgumentList $arguments
        } catch {
            throw ($Name + ' cannot be fetched by this node: ' + $_.Exception.Message)
        }
        $is = Get-WdevHash -Path $part
        if ($is -ne $wanted) {
            throw ('what was fetched as ' + $Name + ' is something else: its SHA-256 is ' + $is + ', not ' + $wanted)
        }
        Move-WdevFile -From $part -To $path
    } finally {
        foreach ($left in $settings, $part) {
            [System.IO.File]::Delete((Resolve-WdevPath -Path $left))
        }
    }
    Write-WdevLog -Text ('fetched ' + $Name)
}

function Invoke-WdevRun {
    Add-WdevFolder -Path $WdevData.cache
    foreach ($name in $WdevData.names) {
        Receive-WdevArtifact -Name $name
    }
}

function Invoke-WdevProbe {
    $there = @($WdevData.names | Where-Object -FilterScript {
        (Get-WdevHash -Path ($WdevData.cache + '\' + $_)) -eq (Get-WdevWantedHash -Name $_)
    })
    Add-WdevFact -Key 'there' -Value ($there -join ' ')
    if ($there.Count -lt @($WdevData.names).Count) {
        Stop-WdevProbe -Reason 'not every file is there'
    }
}
