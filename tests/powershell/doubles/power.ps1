# Power. Its words are German ones, because scripts must not depend on the system's language.

function powercfg.exe {
    $world = Read-World
    $power = Get-Part -World $world -Name 'power' -Default @{ scheme = '381b4222-f694-41f0-9685-ff5bb260df2e'; sleep = 1800 }
    $words = "$args"
    $global:LASTEXITCODE = 0
    if ($words -eq '/getactivescheme') {
        "GUID des Energieschemas: $($power.scheme)  (Ausbalanciert)"
    } elseif ($words -match '^/setactive ([0-9a-f-]{36})$') {
        $power.scheme = $Matches[1]
        Save-World -World $world -Said "powercfg $words"
    } elseif ($words -eq '/query SCHEME_CURRENT SUB_SLEEP STANDBYIDLE') {
        "GUID des Energieschemas: $($power.scheme)  (Ausbalanciert)"
        if ($null -ne $power.sleep) {
            '    Mindestwert: 0x00000000'
            '    Maximalwert: 0xffffffff'
            '    Index der aktuellen Wechselstromeinstellung: 0x{0:x8}' -f [int]$power.sleep
            '    Index der aktuellen Gleichstromeinstellung: 0x00000384'
        }
    } elseif ($words -match '^/change standby-timeout-ac (\d+)$') {
        $power.sleep = 60 * [int]$Matches[1]
        Save-World -World $world -Said "powercfg $words"
    } else {
        'Invalid Parameters -- try "/?" for help'
        $global:LASTEXITCODE = 1
    }
}
