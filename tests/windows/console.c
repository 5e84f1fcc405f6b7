/* Stands for a person at a Windows console. Called as
 *
 *     console.exe c|break FILE PROGRAM [ARGUMENT...]
 *
 * it runs the program in a console of its own, with the caller's standard streams. Each time that FILE
 * appears it removes it and presses Ctrl-C or Ctrl-Break: everything in the console is told, as by the
 * key. Ends with the program's exit code, or with 125 when something of its own fails. */
#include <stdio.h>
#include <wchar.h>
#include <windows.h>

static BOOL WINAPI stay(DWORD event)
{
    (void)event;
    return TRUE;
}

static int failed(const char *what)
{
    fprintf(stderr, "console: %s: error %lu\n", what, GetLastError());
    return 125;
}

/* The rest of our own command line after `count` words, quoted as it came. */
static wchar_t *after(wchar_t *line, int count)
{
    BOOL quoted = FALSE;
    while (count > 0) {
        for (; *line && (quoted || (*line != L' ' && *line != L'\t')); line++)
            if (*line == L'"')
                quoted = !quoted;
        while (*line == L' ' || *line == L'\t')
            line++;
        count--;
    }
    return line;
}

int wmain(int argc, wchar_t **argv)
{
    STARTUPINFOW start = {.cb = sizeof(start), .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION child;
    DWORD code, event;

    if (argc < 4) {
        fprintf(stderr, "usage: console.exe c|break FILE PROGRAM [ARGUMENT...]\n");
        return 125;
    }
    event = wcscmp(argv[1], L"break") ? CTRL_C_EVENT : CTRL_BREAK_EVENT;
    start.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    FreeConsole();
    if (!AllocConsole())
        return failed("no console");
    /* A handler is our own; to ignore the keys would be inherited. */
    SetConsoleCtrlHandler(stay, TRUE);
    SetConsoleCtrlHandler(NULL, FALSE);
    SetHandleInformation(start.hStdInput, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    SetHandleInformation(start.hStdOutput, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    SetHandleInformation(start.hStdError, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    if (!CreateProcessW(NULL, after(GetCommandLineW(), 3), NULL, NULL, TRUE, 0, NULL, NULL, &start, &child))
        return failed("cannot start the program");
    while (WaitForSingleObject(child.hProcess, 20) == WAIT_TIMEOUT)
        if (DeleteFileW(argv[2]) && !GenerateConsoleCtrlEvent(event, 0)) {
            code = failed("the key was not taken");
            TerminateProcess(child.hProcess, code);
            return (int)code;
        }
    if (!GetExitCodeProcess(child.hProcess, &code))
        return failed("no exit code");
    return (int)code;
}
