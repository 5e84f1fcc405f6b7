# Files and archives.

# This PowerShell comes without the module for archives.
function Expand-Archive {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$DestinationPath)
    $paths = $LiteralPath, $DestinationPath | ForEach-Object {
        $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($_)
    }
    [System.IO.Compression.ZipFile]::ExtractToDirectory($paths[0], $paths[1])
}
