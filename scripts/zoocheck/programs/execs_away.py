"""Becomes a program that is not Python."""

import os

import zoo

zoo.meet()
zoo.end()
os.execvp("sh", ["sh", "-c", "echo $$ is a shell; set -- /proc/$$/fd/*; echo $#; exit 11"])
