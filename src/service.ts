#!/usr/bin/env -S node --disable-sigusr1
/** robot-policy-service: the entry point. */
import { endProcess, openProcess } from "./cli/process-context.ts";
import { titleWithoutPasswords } from "./cli/process-title.ts";
import { runServiceProgram } from "./service/program.ts";

const title = titleWithoutPasswords("robot-policy-service", process.argv.slice(2));
// Linux shows every user the arguments of every process. The system keeps them in memory that the title takes the place of.
if (title !== undefined) process.title = title;

void runServiceProgram(process.argv.slice(2), openProcess(process)).then((exitCode) => endProcess(process, exitCode));
