"""Becomes a program that is not Python."""

import os

import zoo

zoo.meet()
zoo.end()
os.execvp("sh", ["sh", "-c", "echo $$ is a shell; ls /proc/$$/fd | wc -l; exit 11"])
