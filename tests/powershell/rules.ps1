# Prints one line for each place of a script that breaks a rule of docs/testing.md.
#
# Input: a JSON file with `scripts` (a list of {path, body}), and `commands` (files with the commands of a
# Windows version: name, module, then one column for each parameter set: `*` required, `@` positional). What
# those lack is in `more-commands.tsv`.
param([string]$Question)
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Stop'

$asked = Get-Content -LiteralPath $Question -Raw | ConvertFrom-Json
# What every command with `CmdletBinding` takes.
$common = 'ErrorAction', 'ErrorVariable', 'WarningAction', 'OutVariable', 'Verbose', 'Debug'
# Programs that a script may call by name.
$programs = 'icacls.exe', 'powershell', 'whoami.exe'
$never = 'Invoke-Expression', 'Restart-Computer', 'Stop-Computer', 'Write-Host', 'Read-Host'
# Windows PowerShell 5.1 and 7 write different bytes by these; `Write-WdevFile` writes the same by both.
$writes = 'Set-Content', 'Add-Content', 'Out-File', 'Tee-Object', 'Export-Csv', 'Export-Clixml'
$verbs = @(Get-Verb).Verb
# This PowerShell lacks the aliases that are programs here.
$aliases = @(Get-Alias).Name + @(
    'cat', 'clear', 'compare', 'cp', 'curl', 'diff', 'kill', 'ls', 'man', 'mount', 'mv', 'ps', 'rm', 'rmdir', 'sc',
    'sleep', 'sort', 'start', 'tee', 'wget', 'write'
)

# Whether a statement behind the command, in the same block, looks at its exit code.
function Test-Checked {
    param($Command)
    $statement = $Command.Parent
    $blocks = 'StatementBlockAst', 'NamedBlockAst'
    $expressions = 'ArrayExpressionAst', 'SubExpressionAst'
    while ($blocks -notcontains $statement.GetType().Name -or $expressions -contains $statement.Parent.GetType().Name) {
        $statement = $statement.Parent
    }
    foreach ($code in $statement.FindAll({
        param($n)
        $n -is [System.Management.Automation.Language.VariableExpressionAst] -and $n.VariablePath.UserPath -eq 'LASTEXITCODE'
    }, $true)) {
        if ($code.Extent.StartOffset -gt $Command.Extent.EndOffset) {
            return $true
        }
    }
    $false
}

function Read-CommandList {
    param([string]$Path)
    $list = New-Object -TypeName 'System.Collections.Generic.Dictionary[string,object]' -ArgumentList ([StringComparer]::OrdinalIgnoreCase)
    $more = Join-Path -Path $PSScriptRoot -ChildPath 'more-commands.tsv'
    foreach ($line in [System.IO.File]::ReadAllLines($Path) + [System.IO.File]::ReadAllLines($more)) {
        if ($line.StartsWith('#')) {
            continue
        }
        $columns = $line.Split("`t")
        $sets = @(foreach ($column in @($columns | Select-Object -Skip 2)) {
            $set = [ordered]@{}
            foreach ($word in $column.Split(' ', [StringSplitOptions]::RemoveEmptyEntries)) {
                $name = $word.Split(':')[0]
                $set[$name.TrimStart('*', '@')] = @{
                    Required = $name.Contains('*')
                    Positional = $name.Contains('@')
                    Switch = $word.EndsWith(':switch')
                }
            }
            $set
        })
        $list[$columns[0]] = $sets
    }
    Write-Output -InputObject $list -NoEnumerate
}

# The names and the number of values without a name that a command is given, and whether more come from
# a variable that nobody knows.
function Get-Use {
    param($Command, $Tables)
    $names = @()
    $values = 0
    $open = $false
    $elements = @($Command.CommandElements | Select-Object -Skip 1)
    for ($i = 0; $i -lt $elements.Count; $i++) {
        $element = $elements[$i]
        if ($element -is [System.Management.Automation.Language.CommandParameterAst]) {
            $names += $element.ParameterName
            $next = if ($i + 1 -lt $elements.Count) { $elements[$i + 1] } else { $null }
            $isValue = $null -ne $next -and $next -isnot [System.Management.Automation.Language.CommandParameterAst]
            # Whether a value follows is the parameter's affair; a switch is told by its list.
            if ($null -eq $element.Argument -and $isValue) {
                $names[-1] += '='
                $i++
            }
        } elseif ($element -is [System.Management.Automation.Language.VariableExpressionAst] -and $element.Splatted) {
            $name = $element.VariablePath.UserPath
            if ($Tables.ContainsKey($name)) {
                $names += $Tables[$name] | ForEach-Object { $_ + '=' }
            } else {
                $open = $true
            }
        } else {
            $values++
        }
    }
    @{ Names = $names; Values = $values; Open = $open }
}

# Why a use fits none of the sets; nothing when it fits one.
function Get-Misfit {
    param($Sets, $Use, [bool]$Piped)
    $reason = 'it has no parameter set'
    foreach ($set in $Sets) {
        $unknown = @($Use.Names | Where-Object { -not $set.Contains($_.TrimEnd('=')) -and $common -notcontains $_.TrimEnd('=') })
        if ($unknown.Count -gt 0) {
            $reason = 'no -' + ($unknown -join ', -').Replace('=', '')
            continue
        }
        $given = @($Use.Names | ForEach-Object { $_.TrimEnd('=') })
        $values = $Use.Values
        foreach ($name in $Use.Names) {
            # The value behind a switch is one without a name.
            $bare = $name.TrimEnd('=')
            if ($name.EndsWith('=') -and $set.Contains($bare) -and $set[$bare].Switch) {
                $values++
            }
        }
        $free = @($set.Keys | Where-Object { $set[$_].Positional -and $given -notcontains $_ })
        if ($values -gt $free.Count) {
            $reason = 'it takes fewer values without a name'
            continue
        }
        $given += @($free | Select-Object -First $values)
        $missing = @($set.Keys | Where-Object { $set[$_].Required -and $given -notcontains $_ })
        # One may come through the pipeline.
        if ($missing.Count -gt [int]$Piped -and -not $Use.Open) {
            $reason = 'it needs -' + ($missing -join ', -')
            continue
        }
        return
    }
    $reason
}

function Test-Script {
    param([string]$Path, [bool]$Body, $Lists)
    $tokens = $null
    $errors = $null
    $ast = [System.Management.Automation.Language.Parser]::ParseFile($Path, [ref]$tokens, [ref]$errors)
    $said = { param($Extent, $What) '{0}:{1}: {2}' -f (Split-Path -Path $Path -Leaf), $Extent.StartLineNumber, $What }
    foreach ($wrong in $errors) {
        & $said $wrong.Extent $wrong.Message
    }
    $lines = [System.IO.File]::ReadAllLines($Path)
    for ($i = 0; $i -lt $lines.Count; $i++) {
        if ($lines[$i] -match '[^\x20-\x7e]') {
            '{0}:{1}: a character that is not ASCII' -f (Split-Path -Path $Path -Leaf), ($i + 1)
        }
    }
    foreach ($token in $tokens | Where-Object { $_.Kind -eq 'LineContinuation' }) {
        & $said $token.Extent 'a backtick at the end of a line'
    }
    $functions = @{}
    $tables = @{}
    # What a script beside it, that it takes in with a dot, brings along.
    foreach ($command in $ast.FindAll({ param($n) $n -is [System.Management.Automation.Language.CommandAst] -and $n.InvocationOperator -eq 'Dot' }, $true)) {
        foreach ($text in $command.FindAll({ param($n) $n -is [System.Management.Automation.Language.StringConstantExpressionAst] -and $n.Value -like '*.ps1' }, $true)) {
            $beside = Join-Path -Path (Split-Path -Path $Path -Parent) -ChildPath $text.Value
            $tree = [System.Management.Automation.Language.Parser]::ParseFile($beside, [ref]$null, [ref]$null)
            foreach ($function in $tree.FindAll({ param($n) $n -is [System.Management.Automation.Language.FunctionDefinitionAst] }, $true)) {
                $functions[$function.Name] = $function
            }
        }
    }
    foreach ($node in $ast.FindAll({ $true }, $true)) {
        $new = switch ($node.GetType().Name) {
            'TernaryExpressionAst' { 'a ternary' }
            'PipelineChainAst' { 'a chain of pipelines' }
            'PipelineAst' { if ($node.Background) { 'a pipeline in the background' } }
            'BinaryExpressionAst' { if ($node.Operator -eq 'QuestionQuestion') { '??' } }
            'AssignmentStatementAst' { if ($node.Operator -eq 'QuestionQuestionEquals') { '??=' } }
            'MemberExpressionAst' { if ($node.NullConditional) { '?.' } }
            'InvokeMemberExpressionAst' { if ($node.NullConditional) { '?.' } }
            'IndexExpressionAst' { if ($node.NullConditional) { '?[' } }
            'NamedBlockAst' { if ($node.BlockKind -eq 'Clean') { 'a clean block' } }
        }
        if ($new) {
            & $said $node.Extent ('newer than Windows PowerShell 5.1: ' + $new)
        }
        if ($node -is [System.Management.Automation.Language.FunctionDefinitionAst]) {
            $functions[$node.Name] = $node
            $parts = $node.Name.Split('-')
            if ($parts.Count -ne 2 -or $verbs -cnotcontains $parts[0]) {
                & $said $node.Extent ($node.Name + ': no approved verb')
            }
        }
        if ($node -is [System.Management.Automation.Language.AssignmentStatementAst] -and
            $node.Left -is [System.Management.Automation.Language.VariableExpressionAst]) {
            $table = $node.Right.Find({ param($n) $n -is [System.Management.Automation.Language.HashtableAst] }, $false)
            if ($null -ne $table -and $table.Extent.Text -eq $node.Right.Extent.Text) {
                $tables[$node.Left.VariablePath.UserPath] = @($table.KeyValuePairs | ForEach-Object { $_.Item1.Value })
            }
        }
        if ($node -is [System.Management.Automation.Language.FileRedirectionAst] -and $node.Location.Extent.Text -ne '$null') {
            & $said $node.Extent 'a file is written by Write-WdevFile alone'
        }
        if ($Body -and $node -is [System.Management.Automation.Language.ExitStatementAst]) {
            & $said $node.Extent 'a body never exits'
        }
    }
    if ($Body -and $functions.ContainsKey('Invoke-WdevRun')) {
        $help = $ast.GetHelpContent()
        if ($null -eq $help -or -not $help.Synopsis -or -not $help.Description) {
            '{0}:1: no help with a synopsis and a description at the beginning' -f (Split-Path -Path $Path -Leaf)
        }
    }
    foreach ($command in $ast.FindAll({ param($n) $n -is [System.Management.Automation.Language.CommandAst] }, $true)) {
        foreach ($element in @($command.CommandElements | Select-Object -Skip 1)) {
            $parts = if ($element -is [System.Management.Automation.Language.ArrayLiteralAst]) { $element.Elements } else { $element }
            foreach ($part in $parts) {
                if ($part -is [System.Management.Automation.Language.StringConstantExpressionAst] -and
                    $part.StringConstantType -eq 'BareWord' -and $part.Value -notmatch '^[A-Za-z][A-Za-z0-9_.]*$' -and
                    $programs -notcontains $command.GetCommandName() -and $command.GetCommandName() -notlike '*.exe') {
                    & $said $part.Extent ('an argument without quotes: ' + $part.Extent.Text)
                }
            }
        }
        $name = $command.GetCommandName()
        if ($null -eq $name) {
            continue
        }
        if ($programs -contains $name -or $name -like '*.exe') {
            if (-not (Test-Checked -Command $command)) {
                & $said $command.Extent ('nobody looks at the exit code of ' + $name)
            }
            continue
        }
        if ($aliases -contains $name -and -not $functions.ContainsKey($name)) {
            & $said $command.Extent ($name + ' is an alias')
            continue
        }
        if ($writes -contains $name) {
            & $said $command.Extent ($name + ': a file is written by Write-WdevFile alone')
            continue
        }
        if ($never -contains $name) {
            & $said $command.Extent ($name + ' is not allowed')
            continue
        }
        $use = Get-Use -Command $command -Tables $tables
        $piped = $command.Parent -is [System.Management.Automation.Language.PipelineAst] -and $command.Parent.PipelineElements[0] -ne $command
        if ($functions.ContainsKey($name)) {
            $block = $functions[$name].Body.ParamBlock
            $takes = @(if ($null -ne $block) { $block.Parameters | ForEach-Object { $_.Name.VariablePath.UserPath } })
            $unknown = @($use.Names | ForEach-Object { $_.TrimEnd('=') } | Where-Object { $takes -notcontains $_ -and $common -notcontains $_ })
            if ($unknown.Count -gt 0) {
                & $said $command.Extent ($name + ': no -' + ($unknown -join ', -'))
            }
            continue
        }
        foreach ($list in $Lists) {
            if (-not $list.Commands.ContainsKey($name)) {
                & $said $command.Extent ($name + ' is no command of ' + $list.Name)
                continue
            }
            $misfit = Get-Misfit -Sets $list.Commands[$name] -Use $use -Piped $piped
            if ($misfit) {
                & $said $command.Extent ($name + ' on ' + $list.Name + ': ' + $misfit)
            }
        }
    }
}

$lists = @(foreach ($path in $asked.commands) {
    @{ Name = [System.IO.Path]::GetFileNameWithoutExtension($path); Commands = Read-CommandList -Path $path }
})
foreach ($script in $asked.scripts) {
    Test-Script -Path $script.path -Body $script.body -Lists $lists
}
