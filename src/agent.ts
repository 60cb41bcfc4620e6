#!/usr/bin/env -S node --disable-sigusr1
/** robot-policy-agent: the entry point. */
import { runAgentProgram } from "./agent/program.ts";
import { endProcess, openProcess } from "./cli/process-context.ts";

void runAgentProgram(process.argv.slice(2), openProcess(process)).then((exitCode) => endProcess(process, exitCode));
