/** Text that Ansible would read as a template; data of ours never holds it. */
export const TEMPLATE = /\{\{|\{%|\{#/;
