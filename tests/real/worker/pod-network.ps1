# A hook of the tests with doubled Windows workers, at the end of the phase `network`: a bridge for the pods of the
# node, in the place of a network plugin. Safe to run twice.
$ErrorActionPreference = 'Stop'

# The third number of the pods' addresses is the last one of the node's own, as the kubelet's service has it.
$line = (Get-CimInstance -ClassName Win32_Service -Filter "Name = 'kubelet'").PathName
if ($line -notmatch '--node-ip=[0-9.]+\.([0-9]+)') {
    throw ('the kubelet has no --node-ip: ' + $line)
}
$text = @"
{
  "cniVersion": "0.4.0",
  "name": "bridge",
  "plugins": [
    {
      "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
      "ipam": {
        "type": "host-local", "ranges": [[{"subnet": "10.244.$($Matches[1]).0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]
      }
    }
  ]
}
"@
Set-Content -LiteralPath 'C:\etc\cni\net.d\10-bridge.conflist' -Value $text
