import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Prints each failure when it happens, because a whole run takes long. */
export default class FailuresAtOnce implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { errors } = test.result();
    for (const error of errors ?? []) print(test.fullName, error);
  }

  onTestModuleEnd(module: TestModule): void {
    for (const error of module.errors()) print(module.moduleId, error);
  }
}

interface Failure {
  message: string;
  diff?: string | undefined;
  stacks?: readonly { file: string; line: number }[] | undefined;
}

function print(name: string, { message, diff, stacks = [] }: Failure): void {
  const where = stacks.map(({ file, line }) => `  at ${file}:${line}`);
  process.stderr.write(`\nFAILED ${name}\n${[message, ...(diff ? [diff] : []), ...where].join('\n')}\n\n`);
}
