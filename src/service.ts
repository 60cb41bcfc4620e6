#!/usr/bin/env -S node --disable-sigusr1
/** robot-policy-service: the entry point. */
import { endProcess, openProcess } from "./cli/process-context.ts";
import { runServiceProgram } from "./cli/service-program.ts";

void runServiceProgram(process.argv.slice(2), openProcess(process)).then((exit_code) => endProcess(process, exit_code));
