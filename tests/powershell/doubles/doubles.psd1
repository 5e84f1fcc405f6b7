@{
    ModuleVersion = '1.0'
    GUID = '6f0f4a0e-5f0c-4b58-9d56-0a3c6b0c5f11'
    RootModule = 'doubles.psm1'
    FunctionsToExport = '*'
    AliasesToExport = '*'
}
