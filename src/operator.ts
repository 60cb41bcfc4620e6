#!/usr/bin/env -S node --disable-sigusr1
/** robot-policy: the entry point. */
import { runOperatorProgram } from "./operator/program.ts";
import { endProcess, openProcess } from "./cli/process-context.ts";

void runOperatorProgram(process.argv.slice(2), openProcess(process)).then((exitCode) => endProcess(process, exitCode));
